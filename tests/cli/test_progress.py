"""The progress bar: drawn where someone looks, seldom, and cleared."""

from __future__ import annotations

import argparse
import io

import pytest

from dither.cli.progress import ProgressBar, progress_bar


def test_it_redraws_at_most_ten_times_a_second_but_always_shows_the_end() -> None:
    stream, now = io.StringIO(), [0.0]
    bar = ProgressBar(stream, lambda: now[0])
    for step in range(1000):
        now[0] = step / 1000
        bar("loading", step / 1000)
    bar("loading", 1.0)
    drawn = stream.getvalue().split("\r\x1b[K")[1:]
    assert 9 <= len(drawn) <= 12
    assert drawn[0] == "[..............................]   0% loading"
    assert drawn[-1] == "[##############################] 100% loading"


def test_a_new_step_is_drawn_at_once_and_clearing_leaves_an_empty_line() -> None:
    stream = io.StringIO()
    bar = ProgressBar(stream, lambda: 0.0)
    bar("reading", 0.5)
    bar("ranking", 0.1)
    bar.clear()
    bar.clear()
    assert stream.getvalue().count("\r\x1b[K") == 3
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("asked", "drawn"), [(None, False), (True, True), (False, False)])
def test_off_a_terminal_it_is_drawn_only_if_asked_for(
    asked: bool | None, drawn: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar(argparse.Namespace(progress=asked)) as bar:
        assert (bar is not None) is drawn
        if bar is not None:
            bar("loading", 0.5)
    assert bool(capsys.readouterr().err) is drawn
