"""`dither learn`: everything where nobody waits, one after the other on a terminal, and a notebook."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.cli.learning import learn
from dither.lab.textbook.catalogue import CHAPTERS, LESSONS, found


def test_a_term_is_found_by_any_of_its_names(call: Callable[..., Any]) -> None:
    done = call("learn", "statistical distance")
    assert call("learn", "statistical", "distance").out == done.out
    assert done.code == 0
    assert "Statistical distance (total variation distance)" in done.out
    assert "Bounds(lower=0.5, upper=0.5)" in done.out
    refused = call("learn", "nothing of the kind")
    assert (refused.code, "no lesson is about 'nothing of the kind'" in refused.err) == (2, True)


def test_the_list_has_every_lesson(call: Callable[..., Any]) -> None:
    out = call("learn", "--list").out
    assert all(f"{chapter}: " in out for chapter in CHAPTERS)
    assert all(lesson.term in out for lesson in LESSONS)


def test_without_a_terminal_all_of_it_is_printed(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(learn, "_tell", lambda lesson: told.append(lesson.term))
    assert call("learn").code == 0
    assert told == [lesson.term for lesson in LESSONS]


def test_a_notebook_is_written_and_never_over_another(call: Callable[..., Any], tmp_path: Path) -> None:
    assert f"{len(LESSONS)} lessons" in call("learn", "--notebook", "lessons.ipynb").out
    assert json.loads((tmp_path / "lessons.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
    (tmp_path / "lessons.ipynb").write_text("mine")
    assert call("learn", "--notebook", "lessons.ipynb").code == 1
    assert (tmp_path / "lessons.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["", "q"], [0, 1]),
        (["azuma", "q"], [0, "azuma"]),
        (["no such thing", "azuma", "", "q"], [0, "azuma", 1]),
        ([], [0]),  # the terminal is closed
    ],
)
def test_a_reader_walks_from_lesson_to_lesson(
    answers: list[str], expected: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    typed: Iterator[str] = iter(answers)

    def ask(_: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(learn, "_tell", lambda lesson: told.append(lesson.term))
    monkeypatch.setattr(builtins, "input", ask)
    learn._walk(list(LESSONS))
    assert told == [found(one)[0].term if isinstance(one, str) else LESSONS[one].term for one in expected]
    assert ("no lesson is about" in capsys.readouterr().out) == ("no such thing" in answers)
