"""A lesson as the terminal shows it: its words, its example run here and now, and what comes of getting it wrong."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill, indent

from dither.lab.museum.catalogue import EXHIBITS
from dither.lab.museum.exhibit import Reckoning
from dither.lab.museum.tour import reckoned
from dither.lab.textbook.lesson import Lesson

_WIDTH = 96


def lines(lesson: Lesson) -> Iterator[str]:
    """The lesson, part by part, as soon as each is known."""
    yield lesson.term + (f" ({', '.join(lesson.also)})" if lesson.also else "")
    yield "-" * len(lesson.term)
    yield _wrapped(lesson.text) + "\n"
    for step, shown in lesson.run():
        first, *others = step.code.splitlines()
        yield "\n".join([f">>> {first}", *(f"... {line}" for line in others), *([shown] if shown else [])])
    if lesson.notes:
        yield "\n" + _wrapped(f"In print: {lesson.notes}")
    if lesson.exhibit:
        yield "\n" + _wrapped(exhibited(lesson.exhibit))


def exhibited(name: str) -> str:
    """The story of an exhibit; and its figures, where they are computed and not sampled."""
    exhibit = next(one for one in EXHIBITS if one.name == name)
    told = f"In the museum, {name}: {exhibit.story}"
    if not isinstance(exhibit, Reckoning):
        return told
    row = reckoned(exhibit)
    return f"{told} Claimed {row.claimed:.4g}, found {row.found:.4g} ({row.measure})."


def _wrapped(text: str) -> str:
    return indent(fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False), "  ")
