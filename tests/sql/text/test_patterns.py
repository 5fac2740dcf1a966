from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.sql.text import patterns

alphabet = st.text(alphabet="ab%_\\😀\n", max_size=8)


def as_regular(pattern: str) -> str:
    return ".*".join("".join("." if c is None else re.escape(c) for c in piece) for piece in patterns.pieces(pattern))


@given(alphabet, alphabet, st.sampled_from(["\\", "a", "", "%"]))
def test_matches_as_a_regular_expression_does(pattern, text, escape):
    try:
        normal = patterns.normal_pattern(pattern, escape)
    except patterns.BadPattern:
        return
    assert bool(patterns.compiled(normal).match(text)) == bool(re.fullmatch(as_regular(normal), text, re.DOTALL))


@given(alphabet)
def test_normal_patterns_stay_as_they_are(pattern):
    try:
        normal = patterns.normal_pattern(pattern)
    except patterns.BadPattern:
        return
    assert patterns.normal_pattern(normal) == normal


@given(alphabet)
def test_every_literal_text_matches_itself_only(text):
    literal = "".join("!" + c if c in "%_!" else c for c in text)
    normal = patterns.normal_pattern(literal, "!")
    assert patterns.compiled(normal).match(text)
    assert not patterns.compiled(normal).match(text + "a")


@pytest.mark.parametrize(("pattern", "escape"), [("a\\", "\\"), ("a!", "!"), ("%", "%"), ("x", "ab"), ("a" * 1001, "")])
def test_patterns_without_a_meaning_are_refused(pattern, escape):
    with pytest.raises(patterns.BadPattern):
        patterns.normal_pattern(pattern, escape)


def test_hostile_patterns_take_linear_time_in_engine_and_here(snapshot):
    pattern = "%a" * 30 + "%_b"
    start = time.process_time()
    assert not patterns.compiled(patterns.normal_pattern(pattern)).match("a" * 1000)
    assert snapshot.connection.execute("SELECT 1").fetchone() == (1,)
    from dither.sql.lowering.duckdb_dialect import DUCKDB

    for text in (pattern, "%a" * 30 + "%b", "%a" * 30 + "%\\_b"):
        snapshot.connection.execute(f"SELECT {DUCKDB.like(DUCKDB.text('a' * 1000), text)}").fetchall()
    assert time.process_time() - start < 10
