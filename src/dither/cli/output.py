"""What commands print: lines of visible text, whatever names and labels are in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO, cast

from dither.escape import visible_lines


class VisibleOutput:
    """A stream that writes control characters, other than ends of lines, as marks. Everything else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """All that is printed inside is visible."""
    with redirect_stdout(cast(TextIO, VisibleOutput(sys.stdout))):
        yield


def print_raw(text: str) -> None:
    """Print for a program, as it is."""
    stream = sys.stdout
    (stream.stream if isinstance(stream, VisibleOutput) else stream).write(text)
