"""The lessons as a Jupyter notebook: plain JSON of format 4.5, which needs no library to be written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dither.lab.textbook.catalogue import CHAPTERS
from dither.lab.textbook.lesson import Lesson

_INTRODUCTION = """\
# The textbook's words

Each term of the usual lecture notes with the call that does it. Run the cells in any order; noise is drawn afresh."""


def notebook() -> str:
    """All chapters: a cell of words and a cell of code for each lesson."""
    cells = [_words(_INTRODUCTION)]
    for name, lessons in CHAPTERS.items():
        cells += [_words(f"## {name}"), *(cell for lesson in lessons for cell in _lesson(lesson))]
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _lesson(lesson: Lesson) -> Iterator[dict[str, Any]]:
    said = [f"### {lesson.term}", lesson.text, *([f"**In print:** {lesson.notes}"] if lesson.notes else [])]
    yield _words("\n\n".join(said))
    for group in _groups(lesson):
        yield {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": _lines(group)}


def _groups(lesson: Lesson) -> Iterator[str]:
    """A cell for everything up to an expression that has a result, which a notebook shows."""
    waiting: list[str] = []
    for step in lesson.steps:
        waiting.append(step.code)
        if step.shown:
            yield "\n".join(waiting)
            waiting = []
    if waiting:
        yield "\n".join(waiting)


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
