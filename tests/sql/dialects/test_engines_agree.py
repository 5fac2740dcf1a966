"""Random questions in a dialect are answered as its real engine answers them, or refused: never otherwise."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import dialects_engines as engines
import dialects_rows as rows
import pytest
from dialects_questions import Questions

from dither.errors import DitherError
from dither.sql.scalars import scalar
from dither.sql.text.dialects.vocabularies import VOCABULARIES

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
QUESTIONS = {"postgres": 200, "duckdb": 150, "sqlite": 150}
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
    """How the questions went; all that are wrong are told at the end."""
    questions, went, wrong = Questions(CAMPAIGN, engine.dialect), Counter[str](), list[str]()
    many = QUESTIONS[engine.dialect] * CAMPAIGN
    for _ in range(many):
        try:
            went[compare(dither, engine, *questions.question())] += 1
        except Wrong as found:
            wrong.append(str(found))
    print(engine.dialect, dict(went), f"{len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])
    assert went["alike"] > many * 0.6, went
    return went


@pytest.mark.parametrize("name", QUESTIONS)
def test_random_questions(dither: rows.Exact, name: str, request: pytest.FixtureRequest) -> None:
    campaign(dither, request.getfixturevalue(f"{name}_engine"))


# Planted bugs


PLANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "casts round where they cut": ("sqlite", {"to_whole": "rounded"}),
    "NULL is the largest of an owner's rows": ("sqlite", {"nulls": "large"}),
    "NULL is the smallest of an owner's rows": ("duckdb", {"nulls": "small"}),
    "LIKE minds case": ("sqlite", {"like": "letters"}),
    "remainders of decimal numbers": ("sqlite", {"remainder": "same"}),
    "whole division where it is exact": ("duckdb", {"division": "whole"}),
    "backslash escapes in LIKE": ("duckdb", {"like_escape": "\\"}),
    "MAX of two values passes over NULL": (
        "sqlite",
        {"functions": {"MAX": VOCABULARIES["duckdb"].functions["GREATEST"]}},
    ),
}


@pytest.mark.parametrize(("dialect", "facts"), PLANTED.values(), ids=PLANTED)
def test_planted_facts_are_found(
    dither: rows.Exact,
    dialect: str,
    facts: dict[str, Any],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = VOCABULARIES[dialect]
    known = {name: {**own.functions, **value} if name == "functions" else value for name, value in facts.items()}
    monkeypatch.setitem(VOCABULARIES, dialect, replace(own, **known))
    with pytest.raises(Wrong):
        until_wrong(dither, request.getfixturevalue(f"{dialect}_engine"))


def test_planted_whole_quotients_are_found(
    dither: rows.Exact, postgres_engine: engines.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalar, "is_integer", lambda node: True)
    with pytest.raises(Wrong):
        until_wrong(dither, postgres_engine)


def until_wrong(dither: rows.Exact, engine: engines.Engine) -> None:
    questions = Questions(0, engine.dialect)
    for _ in range(2000):
        compare(dither, engine, *questions.question())
