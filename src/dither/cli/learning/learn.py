"""`dither learn`: the textbook's words and the bug museum as a tour in the terminal, or as a notebook."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.common import Commands, command
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.lab.textbook.lesson import Lesson

_DESCRIPTION = """\
A tour of the words, formulas and examples of the usual lecture notes: each with the call
that does it, run here and now, where the printed formula is loose or wrong, and what in
the bug museum came of it. On a terminal it waits after each lesson; elsewhere it prints
them all. No folder is needed and no data are read."""

_EXAMPLES = """\
  dither learn
  dither learn statistical distance
  dither learn --list
  dither learn --notebook lessons.ipynb"""

_PROMPT = "\nEnter: next, a word: search, q: quit > "


def add(commands: Commands) -> None:
    parser = command(commands, "learn", "a tour of the textbook", description=_DESCRIPTION, examples=_EXAMPLES)
    parser.add_argument("term", nargs="*", help="only the lessons about this, by any of its names")
    parser.add_argument("--list", action="store_true", help="list the lessons by chapter")
    parser.add_argument("--notebook", type=Path, metavar="FILE", help="write all lessons as a Jupyter notebook")
    parser.set_defaults(run=learn)


def learn(arguments: argparse.Namespace) -> None:
    """Take the tour, or a part of it, in the form that was asked for."""
    from dither.lab.textbook.catalogue import CHAPTERS, LESSONS

    if arguments.notebook is not None:
        from dither.lab.textbook.notebook import notebook

        with arguments.notebook.open("x", encoding="utf-8") as file:  # never over what somebody worked on
            file.write(notebook())
        print(f"{len(LESSONS)} lessons are in {arguments.notebook}; open it with Jupyter.")
        return
    if arguments.list:
        for chapter, lessons in CHAPTERS.items():
            print(f"{chapter}: {', '.join(lesson.term for lesson in lessons)}")
        return
    chosen = _about(" ".join(arguments.term)) if arguments.term else list(LESSONS)
    if sys.stdin.isatty() and sys.stdout.isatty():
        _walk(chosen)
        return
    for lesson in chosen:
        _tell(lesson)


def _walk(waiting: list[Lesson]) -> None:
    """One lesson after the other, as the reader asks for them; what is searched for comes next."""
    while waiting:
        _tell(waiting.pop(0))
        word = _answer() if waiting else "q"
        while word not in ("", "q"):
            try:
                found = _about(word)
            except ParameterError as unknown:
                print(unknown)
                word = _answer()
                continue
            waiting = [*found, *(lesson for lesson in waiting if lesson not in found)]
            word = ""
        if word == "q":
            return


def _answer() -> str:
    try:
        return input(_PROMPT).strip()
    except EOFError:
        return "q"


def _tell(lesson: Lesson) -> None:
    from dither.lab.textbook.tour import lines

    print()
    for line in lines(lesson):
        print(line, flush=True)


def _about(word: str) -> list[Lesson]:
    from dither.lab.textbook.catalogue import found

    lessons = found(word)
    if not lessons:
        raise ParameterError(f"no lesson is about {word[:40]!r}; `dither learn --list` names all.")
    return lessons
