"""The guard knows every new kind of expression, and refuses each in a form that a faulty planner could make."""

from __future__ import annotations

import inspect

import pytest

from dither.errors import UnsupportedQuery
from dither.sql import expressions as e
from dither.sql.guard.ranges import NUMBERS, OTHERS, UnsafePlan, interval, verify
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.writer import NUMBERS as WRITTEN_NUMBERS
from dither.sql.lowering.writer import TEXTS, TRUTHS, Writer
from dither.sql.scalars.scalar import MOST_WORDS

X = e.Stored("x", -100, 100, 0, True)
DAY = e.Stored("day", -25598, 47571, 0, True)
NAME = e.StoredText("name", True, 40)
FAR = e.Constant(10**9)

BUGS = {
    "steps descending": e.Steps(X, (5, 3), (0, 1, 2)),
    "steps repeated": e.Steps(X, (5, 5), (0, 1, 2)),
    "a result missing": e.Steps(X, (5,), (0,)),
    "a result too many": e.Steps(X, (), (0, 1)),
    "a result too large": e.Steps(X, (5,), (0, 2**126)),
    "a shift too large": e.Shifted(X, (), (2**126,)),
    "shifted by steps descending": e.Shifted(X, (5, 3), (0, 1, 2)),
    "a misstated column": e.Indicator(e.Among(e.Stored("x", -1, 1, 0, True), ((1, 1),))),
    "an undeclared column in steps": e.Steps(e.Stored("salary", 0, 1, 0, True), (), (0,)),
    "a part of a day beyond the calendar": e.DatePart("year", e.Add(DAY, FAR)),
    "an unknown part": e.DatePart("second", DAY),
    "a period beyond the calendar": e.FirstDay("month", e.Subtract(DAY, FAR)),
    "an unknown period": e.FirstDay("week", DAY),
    "months beyond the calendar": e.AddMonths(DAY, 12 * 8000),
    "months before the calendar": e.AddMonths(DAY, -12 * 8000),
    "the length of an unknown text": e.Length(e.StoredText("salary", True, 40)),
    "a substring from nowhere": e.Length(e.Substring(NAME, 0, 1)),
    "a substring of negative length": e.Length(e.Substring(NAME, 1, -1)),
    "a text that grows for ever": e.Length(e.Joined((NAME,) * 100_000)),
    "a choice of texts without conditions": e.Length(e.TextCase((), (), NAME)),
    "a choice of texts with a text missing": e.Length(e.TextCase((e.Truth(True),), (), NAME)),
    "a pattern that ends in its escape": e.Indicator(e.ILike(NAME, "a\\")),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_refused(bench, name):
    with pytest.raises(UnsafePlan):
        interval(BUGS[name], bench.schema)


GOOD: list[e.Expression] = [
    e.Steps(X, (0, 50), (7, -7, 0)),
    e.Steps(X, (), (3,)),
    e.Shifted(X, (0,), (10, -10)),
    e.Indicator(e.Among(X, ((1, 1),))),
    e.DatePart("week", DAY),
    e.FirstDay("quarter", DAY),
    e.AddMonths(DAY, -13),
    e.Length(e.Trim(e.Joined((NAME, e.TextConstant("x"))), True, False)),
    e.TextCase((e.ILike(NAME, "a%"),), (NAME,), e.TextNull()),
    e.TextCoalesce((NAME, e.Substring(NAME, 2, 5))),
]


@pytest.mark.parametrize("node", GOOD)
def test_sound_expressions_pass_and_run(bench, node):
    bench.run(node)


def test_every_kind_of_expression_is_judged_and_written(bench):
    """A node that only one of the two tables knew would be refused in one place and run in the other."""
    abstract = (e.Expression, e.Numeric, e.Boolean, e.Textual, e.Binary, e.Several, e.Opaque)
    kinds = {kind for _, kind in inspect.getmembers(e, inspect.isclass) if issubclass(kind, e.Expression)}
    kinds -= set(abstract)
    assert kinds == {*NUMBERS, *OTHERS} == {*WRITTEN_NUMBERS, *TEXTS, *TRUTHS}


def test_the_guard_is_no_narrower_than_what_happens(bench):
    """Bounds at the very ends: the guard's interval holds the values of a column's least and greatest days."""
    for node in (e.DatePart("year", DAY), e.FirstDay("year", DAY), e.AddMonths(DAY, 1), e.AddMonths(DAY, -1)):
        low, high = interval(node, bench.schema)
        assert low <= node.low <= node.high <= high


def test_an_unknown_expression_is_refused(bench):
    class Trick(e.Steps):
        pass

    with pytest.raises(UnsafePlan, match="not known to be safe"):
        verify(Trick(X, (), (0,)), bench.schema)
    with pytest.raises(KeyError):
        Writer(DUCKDB, {"x": '"x"'}).number(Trick(X, (), (0,)))


BOMBS = {
    "SIGN": "x",
    "rounding": "money",
    "truth": "x > 0",
    "labels": "region",
    "zones": "at",
    "buckets": "x",
    "months": "day",
}
LEVELS = {
    "SIGN": "SIGN({} * 2 - 1)",
    "rounding": "ROUND({} * 1.5, 1)",
    "truth": "(CASE WHEN {} THEN x ELSE n END) IN (1, 3, 5, 7)",
    "labels": "CASE WHEN LENGTH({}) > 4 THEN region ELSE 'other' END",
    "zones": "({} AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'UTC'",
    "buckets": "WIDTH_BUCKET({} * 3, 0, 100, 7)",
    "months": "({} + INTERVAL '1 month')",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_accepted_is_never_written_out_at_great_length(bench, name):
    """Some operators write an operand several times: nested deeply they would double at every level."""
    text = BOMBS[name]
    for _ in range(11):
        text = LEVELS[name].format(text)
        try:
            node = bench.bind(text).node
        except UnsupportedQuery:
            break
        sql = Writer(DUCKDB, {column: DUCKDB.name(column) for column in bench.table.columns}).any(node)
        assert len(sql) < 60 * node.size
        assert node.size <= MOST_WORDS
