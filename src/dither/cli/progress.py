"""A progress bar for long loads: one line on stderr, redrawn at most ten times a second, only where someone looks."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_WIDTH = 30
_SECONDS_BETWEEN = 0.1


class ProgressBar:
    """Called with what is being done and the fraction finished."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._what, self._drawn = "", float("-inf")

    def __call__(self, what: str, fraction: float) -> None:
        now = self._clock()
        if what == self._what and fraction < 1 and now - self._drawn < _SECONDS_BETWEEN:
            return
        self._what, self._drawn = what, now
        full = round(_WIDTH * min(1.0, max(0.0, fraction)))
        self._stream.write(f"\r\x1b[K[{'#' * full}{'.' * (_WIDTH - full)}] {fraction:4.0%} {what}")
        self._stream.flush()

    def clear(self) -> None:
        """Leave an empty line, so that what is printed next stands by itself."""
        if self._what:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._what = ""


def add_progress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="draw a progress bar on stderr, or never (default: if stderr is a terminal)",
    )


@contextmanager
def progress_bar(arguments: argparse.Namespace) -> Iterator[ProgressBar | None]:
    """The bar, if it was asked for or someone looks; cleared afterwards."""
    wanted = sys.stderr.isatty() if arguments.progress is None else arguments.progress
    bar = ProgressBar(sys.stderr) if wanted else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.clear()
