"""Calendar functions nested in each other over columns that reach from year 1 to year 9999.

Each question is refused where it is written, or runs on the first and the last days there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import duckdb
import pytest

from dither.engines.result import sealed
from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Date, Int, Timestamp
from dither.policy.columns.key_domains import DAY
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.expressions import FIRST_DAY, LAST_DAY
from dither.sql.guard import ranges
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.lowering.lower import lower

COLUMNS = {
    "d": Date("0001-01-01", "9999-12-31"),
    "at": Timestamp("0001-01-01", "9999-12-31T23:59:59.999999"),
    "early": Date("0001-01-25", "0001-03-10", nullable=False, default="0001-01-25"),
    "n": Int(0, 40, nullable=False, default=0),
}
CATALOG = Catalog({"t": Table("t", "people", "uid", 4, COLUMNS, owner_type="BIGINT")})
DAYS = (FIRST_DAY, FIRST_DAY + 1, FIRST_DAY + 6, FIRST_DAY + 40, 0, LAST_DAY - 31, LAST_DAY, None)

FUNCTIONS = (
    *(f"DATE_TRUNC('{unit}', {{}})" for unit in ("year", "month", "week", "day")),
    "({} + INTERVAL '1 month')",
    "({} - INTERVAL '1 month')",
    "(CAST({} AS DATE) - n)",
    "({} - INTERVAL '1 second')",
    "({} AT TIME ZONE 'Europe/Berlin')",
    "CASE WHEN n > 3 THEN {} ELSE d END",
)
QUESTIONS = (
    "SELECT {} AS k, COUNT(*) FROM t GROUP BY k",
    "SELECT MEDIAN({}) FROM t",
    "SELECT EXTRACT(YEAR FROM {}) AS k, SUM(EXTRACT(DOY FROM {})) FROM t GROUP BY k",
    "SELECT DATE_TRUNC('year', c) AS k, COUNT(*) FROM (SELECT {} AS c FROM t) AS q WHERE EXTRACT(WEEK FROM c) > 2 "
    "GROUP BY k",
)


@pytest.fixture(scope="module")
def rows() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute('CREATE SCHEMA "t_t"')
    connection.execute(
        'CREATE TABLE "t_t"."rows" ("d" INT, "at" BIGINT, "early" INT, "n" INT, "_owner" BIGINT, "_rank" INT)'
    )
    for owner, day in enumerate(DAYS):
        moment = None if day is None else day * DAY + (DAY - 1 if owner % 2 else 0)
        values = (day, moment, FIRST_DAY + 24 + owner * 6, owner * 5, owner, 1)
        connection.execute('INSERT INTO "t_t"."rows" VALUES (?, ?, ?, ?, ?, ?)', values)
    yield connection
    connection.close()


def answered(rows: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether the question is answered; if not, it is refused with its place, and nothing else happens."""
    try:
        aggregates = plan(read(text, CATALOG))
    except UnsupportedQuery as refusal:
        if refusal.line is None or refusal.column is None:
            raise AssertionError("a refusal without its place") from refusal
        return False
    check(aggregates)
    for aggregate in aggregates:
        statement = lower(aggregate)
        sealed(rows.sql(statement.sql).to_arrow_table(), statement)
    return True


@pytest.mark.parametrize("column", ["d", "at", "early"])
@pytest.mark.parametrize("inner", FUNCTIONS)
def test_nested_functions_run_or_are_refused_where_they_are_written(rows, column, inner):
    for outer, question in product(FUNCTIONS, QUESTIONS):
        answered(rows, question.replace("{}", outer.replace("{}", inner.replace("{}", column))))


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour"])
def test_starts_of_periods_never_leave_the_calendar(rows, unit):
    for column, question in product(("d", "at"), QUESTIONS):
        thrice = f"DATE_TRUNC('month', DATE_TRUNC('{unit}', DATE_TRUNC('{unit}', {column})))"
        assert answered(rows, question.replace("{}", thrice))


def test_the_guard_knows_the_ends_of_each_function():
    day = e.Stored("d", FIRST_DAY, LAST_DAY, 0, True)
    schema = {"d": day}
    for period in ("year", "quarter", "month"):
        first = e.FirstDay(period, day)
        assert ranges.interval(first, schema) == first.bounds
        assert first.low == FIRST_DAY
    for months, value in product((-1, 1), (e.Clamp(day, FIRST_DAY + 31, LAST_DAY - 31),)):
        moved = e.AddMonths(value, months)
        assert ranges.interval(moved, schema) == moved.bounds
    for beyond in (e.AddMonths(day, 1), e.AddMonths(day, -1), e.MonthStart(e.Constant(12 * 8030))):
        with pytest.raises(UnsafePlan, match="leave the years 1 to 9999"):
            ranges.interval(beyond, schema)


def test_planted_first_day_a_year_too_early(rows, monkeypatch):
    """The guard's own range of a first day once began a year before the first: a fault where a question was right."""
    text = "SELECT DATE_TRUNC('month', DATE_TRUNC('month', d)) AS k, COUNT(*) FROM t GROUP BY k"
    assert answered(rows, text)
    exact = ranges.NUMBERS[e.FirstDay]

    def wider(node, schema):
        low, high = exact(node, schema)
        return low - 365, high

    monkeypatch.setitem(ranges.NUMBERS, e.FirstDay, wider)
    with pytest.raises(UnsafePlan):
        answered(rows, text)
