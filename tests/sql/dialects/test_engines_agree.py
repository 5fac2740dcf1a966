"""Random questions in a dialect are answered as its real engine answers them, or refused: never otherwise."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction
from typing import Any

import dialects_engines as engines
import dialects_rows as rows
import pytest
from dialects_questions import Questions

from dither.errors import DitherError

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
QUESTIONS = 500 * CAMPAIGN
CLOSE = Fraction(1, 100_000)  # dither's quotients have six decimals, and a few are added up


class Wrong(AssertionError):
    """dither and the engine answer differently."""


def compare(dither: rows.Exact, engine: engines.Engine, text: str, keys: int) -> str:
    """How a question went: answered alike, refused, or an error of the engine where dither has a value."""
    try:
        found = dither.answer(text, engine.dialect)
    except DitherError:
        return "refused"
    try:
        wanted = engine.answer(text, keys)
    except engines.Failed:
        return "failed"
    found = {key: measures for key, measures in found.items() if any(measures) or key in wanted}
    if found.keys() != wanted.keys():
        raise Wrong(f"{engine.dialect}: other groups {set(found) ^ set(wanted)}: {text}")
    for key, measures in found.items():
        for mine, theirs in zip(measures, wanted[key], strict=True):
            if abs(mine - theirs) > CLOSE * max(1, abs(theirs)):
                raise Wrong(f"{engine.dialect}: {float(mine)} and not {float(theirs)} for {key}: {text}")
    return "alike"


def campaign(dither: rows.Exact, engine: engines.Engine) -> Counter[str]:
    questions, went, wrong = Questions(CAMPAIGN, engine.dialect), Counter[str](), list[str]()
    for _ in range(QUESTIONS):
        try:
            went[compare(dither, engine, *questions.question())] += 1
        except Wrong as found:
            wrong.append(str(found))
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])
    assert went["alike"] > QUESTIONS * 0.6, went
    return went


def test_duckdb(dither: rows.Exact, duckdb_engine: engines.Engine) -> None:
    campaign(dither, duckdb_engine)


def test_sqlite(dither: rows.Exact, sqlite_engine: engines.Engine) -> None:
    campaign(dither, sqlite_engine)


def test_postgresql(dither: rows.Exact, postgresql_engine: engines.Engine) -> None:
    campaign(dither, postgresql_engine)
