"""What generated SQL leaves out: clamps that the guard has proven to do nothing, and nothing else."""

from __future__ import annotations

import re

import duckdb
import pytest

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Date, Int, Text
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.guard.ranges import no_op
from dither.sql.lowering import writer
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower
from dither.sql.lowering.postgresql_dialect import POSTGRESQL
from dither.sql.lowering.writer import Writer
from dither.sql.plan.nodes import SumRows

X = e.Stored("x", -10, 100, 0, may_be_null=False)
NULLABLE = e.Stored("y", 0, 2**62, 0, may_be_null=True)
TEXT = e.StoredText("c", False, 9)
SCHEMA = {"x": X, "y": NULLABLE, "c": TEXT}
COLUMNS = {
    "age": Int(0, 120, nullable=False, default=0),
    "size": Int(-5, 300),
    "day": Date("2020-01-01", "2024-12-31", nullable=False, default="2020-01-01"),
    "name": Text(max_length=9),
}
TABLES = Catalog({"t": Table("t", "people", "uid", 9, COLUMNS, 1, owner_type="BIGINT")})


def sql(text: str, dialect: Dialect = DUCKDB) -> str:
    aggregates = plan(read(text, TABLES))
    check(aggregates)
    return lower(aggregates[0], dialect).sql


def test_a_clamp_does_nothing_if_its_value_can_lie_nowhere_else():
    doubled = e.Multiply(X, e.Constant(2))
    assert no_op(e.Clamp(X, -10, 100), SCHEMA)
    assert no_op(e.Clamp(X, -11, 101), SCHEMA)
    assert not no_op(e.Clamp(X, -9, 100), SCHEMA)
    assert not no_op(e.Clamp(X, -10, 99), SCHEMA)
    assert no_op(e.Clamp(doubled, -20, 200), SCHEMA)
    assert not no_op(e.Clamp(doubled, -20, 199), SCHEMA)
    assert no_op(e.Clamp(e.Clamp(doubled, 0, 50), 0, 50), SCHEMA)


class Boastful(e.Negate):
    bounds = (0, 1)


@pytest.mark.parametrize(
    ("name", "clamp", "schema"),
    [
        ("a column that the relation does not have", e.Clamp(X, -10, 100), {}),
        ("a column that is wider there", e.Clamp(X, -10, 100), {"x": e.Stored("x", -10, 101, 0, False)}),
        ("columns that contradict each other", e.Clamp(e.Add(X, e.Stored("x", 0, 9, 0, False)), -99, 999), SCHEMA),
        ("bounds that an expression claims", e.Clamp(Boastful(X), 0, 1), SCHEMA),
        ("a text that is longer there", e.Clamp(e.Length(TEXT), 0, 9), {"c": e.StoredText("c", False, 10)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_plan_says_of_itself_is_no_reason_to_leave_a_clamp_out(name, clamp, schema):
    assert not no_op(clamp, schema)
    written = Writer(DUCKDB, {"x": "x", "c": "c"}, schema)
    assert "GREATEST" in written.clamped(e.Clamp(X, 0, 1))
    if type(clamp.value) is not Boastful:
        assert "GREATEST" in written.number(clamp)
        assert "GREATEST" in written.sum(clamp)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(age) FROM t",
        "SELECT SUM(age * 2 - 7) FROM t",
        "SELECT AVG(size) FROM t",
        "SELECT SUM(CASE WHEN age > 7 THEN size ELSE 0 END) FROM t",
        "SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM t GROUP BY y",
    ],
)
def test_what_declarations_bound_is_not_clamped_again(text):
    assert not re.search("GREATEST|LEAST", sql(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(age) FROM t WHERE age BETWEEN 5 AND 7",
        "SELECT SUM(size % age) FROM t WHERE age < 3",
    ],
)
def test_what_only_a_condition_bounds_is_clamped(text):
    assert re.search("GREATEST.*LEAST", sql(text))


def test_a_constant_is_taken_off_the_sum_unless_that_could_be_too_large():
    written = Writer(DUCKDB, {"x": "x", "y": "y"}, SCHEMA)
    assert written.sum(SumRows(e.Clamp(e.Subtract(X, e.Constant(7)), -17, 93)).value) == (
        "CAST(COALESCE(SUM(x) - CAST(7 AS HUGEINT) * COUNT(*), 0) AS BIGINT)"
    )
    assert "* COUNT(y)" in written.sum(e.Clamp(e.Subtract(NULLABLE, e.Constant(7)), -7, 2**62 - 7))
    wide = e.Multiply(NULLABLE, e.Constant(2**40))  # 2**36 rows of it exceed 126 bits, and moved by a third they do not
    narrow = e.Clamp(e.Subtract(wide, e.Constant(2**60)), 0, 2**61)
    assert "COUNT" not in written.sum(narrow)


def summed(value: e.Numeric) -> int:
    written = Writer(DUCKDB, {"x": "x"}, SCHEMA).sum(value)
    with duckdb.connect() as engine:
        return int(engine.execute(f"SELECT {written} FROM (VALUES (-10), (0), (100)) AS t(x)").fetchone()[0])


def test_a_clamp_left_out_by_mistake_would_be_seen(monkeypatch):
    narrow, moved = e.Clamp(X, -2, 5), e.Clamp(e.Subtract(X, e.Constant(7)), -10, 93)
    assert (summed(narrow), summed(moved)) == (3, 76)
    monkeypatch.setattr(writer, "no_op", lambda clamp, schema: True)
    assert (summed(narrow), summed(moved)) == (90, 69)


COUNTED = {
    "a comparison": ("age >= 40", True),
    "several": ("age BETWEEN 3 AND 9 OR size IN (1, 5) AND NOT size IS NULL", True),
    "computed numbers": ("age >= 40 AND age % 7 = size", False),
    "texts": ("age >= 40 AND name LIKE '%x%'", False),
}


@pytest.mark.parametrize(("condition", "computed"), COUNTED.values(), ids=COUNTED)
def test_rows_that_fit_a_comparison_are_counted_without_being_chosen(condition, computed):
    for text in (f"SELECT COUNT(*) FROM t WHERE {condition}", f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM t"):
        assert ("COUNT_IF" in sql(text)) == computed
        assert "COUNT_IF" not in sql(text, POSTGRESQL)
    grouped = sql(f"SELECT age, COUNT(*) FROM t WHERE {condition} GROUP BY age")
    assert "COUNT_IF" not in grouped, "rows of other groups would show"


def counted(condition: str, rows: str) -> list[tuple[int, str]]:
    """What is counted of rows of age, size and rank, and in which type."""
    with duckdb.connect() as engine:
        engine.execute("ATTACH ':memory:' AS t_t")
        engine.execute(f"CREATE TABLE t_t.rows AS SELECT * FROM ({rows}) AS given(age, size, _rank)")
        statement = sql(f"SELECT COUNT(*) FROM t WHERE {condition}")
        assert "COUNT_IF" in statement
        return engine.execute(f"SELECT m0, typeof(m0) FROM ({statement})").fetchall()


def test_neither_null_nor_rows_beyond_the_limit_are_counted():
    rows = "VALUES (40, 1, 1), (50, NULL, 9), (60, NULL, 10), (41, 2, 9), (39, 1, 1)"
    assert counted("age >= 40", rows) == [(3, "BIGINT")]
    assert counted("size = 1", rows) == [(2, "BIGINT")]
    assert counted("NOT size = 1", rows) == [(1, "BIGINT")]
    assert counted("size IS NULL", rows) == [(1, "BIGINT")]
    assert counted("age >= 40", f"SELECT * FROM ({rows}) WHERE false") == [(0, "BIGINT")]


def test_not_like_is_one_comparison():
    name = e.StoredText("name", True, 1000)
    written = Writer(DUCKDB, {"name": "name"})
    assert written.truth(e.Not(e.Like(name, "%a%b%"))) == "(name NOT LIKE '%a%b%')"
    assert written.truth(e.Not(e.Like(name, "a_"))).startswith("(NOT regexp_full_match(")
