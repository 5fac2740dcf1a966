"""All lessons, chapter by chapter. A new lesson joins its chapter's list."""

from __future__ import annotations

from dither.lab.textbook import (
    additive_noise,
    choices,
    compositions,
    definitions,
    divergences,
    sensitivities,
    stability,
)
from dither.lab.textbook.lesson import Lesson

CHAPTERS: dict[str, tuple[Lesson, ...]] = {
    "Definitions": definitions.LESSONS,
    "Added noise": additive_noise.LESSONS,
    "Choices": choices.LESSONS,
    "Sensitivity of these data": sensitivities.LESSONS,
    "Tests first": stability.LESSONS,
    "Composition": compositions.LESSONS,
    "Divergences": divergences.LESSONS,
}
LESSONS: tuple[Lesson, ...] = tuple(lesson for chapter in CHAPTERS.values() for lesson in chapter)


def found(word: str) -> list[Lesson]:
    """The lessons whose term or other names contain a word, or else whose text does."""
    wanted = word.casefold()
    named = [one for one in LESSONS if any(wanted in name.casefold() for name in (one.term, *one.also))]
    return named or [one for one in LESSONS if wanted in f"{one.text} {one.notes}".casefold()]
