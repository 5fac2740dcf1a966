"""How many rows a relation can have of all owners: sums over joined and united rows fit what they are computed in."""

from __future__ import annotations

import re

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import MOST_ROWS, Catalog, Table
from dither.policy.columns import Int
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.guard.facts import facts
from dither.sql.lowering.lower import lower
from dither.sql.plan.nodes import (
    Aggregate,
    JoinOwner,
    OwnerAggregate,
    OwnerLimit,
    Retruncate,
    Scan,
    SumRows,
    Total,
    UnionAll,
)

COLUMNS = {"x": Int(0, 2**26, nullable=False, default=0), "big": Int(-(2**62), 2**62, nullable=False, default=0)}
TABLE = Table("t", "people", "uid", 1_000, COLUMNS, owner_type="BIGINT")
CATALOG = Catalog({"t": TABLE})


def scan(suffix: str) -> Scan:
    return Scan(TABLE, tuple((name, name + suffix) for name in COLUMNS))


def test_rows_of_joins_and_unions():
    one, other = OwnerLimit(scan("1"), 20), OwnerLimit(scan("2"), 30)
    totals = OwnerAggregate(scan("3"), (), (("n", Total("count", None, None, 0, 5, False)),))
    assert facts(one).total == MOST_ROWS
    assert facts(JoinOwner(one, other)).total == MOST_ROWS * 20, "each row of the other finds 20"
    assert facts(JoinOwner(one, other, outer=True)).total == MOST_ROWS * 21
    assert facts(JoinOwner(scan("1"), other)).total == MOST_ROWS * 30
    assert facts(JoinOwner(scan("1"), scan("2"))).total == MOST_ROWS**2
    assert facts(JoinOwner(one, totals)).total == MOST_ROWS
    assert facts(Retruncate(JoinOwner(one, other), 7)).total == MOST_ROWS * 20
    assert facts(UnionAll((one, OwnerLimit(scan("1"), 5), one))).total == MOST_ROWS * 3


def test_a_sum_is_as_wide_as_all_rows_need():
    def width(text: str) -> str:
        (aggregate,) = plan(read(text, CATALOG))
        return re.findall(r"0\) AS (\w+)\) AS m0", lower(aggregate).sql)[0]

    assert width("SELECT SUM(x) FROM t") == "BIGINT"
    assert width("SELECT SUM(a.x) FROM t AS a JOIN t AS b ON a.uid = b.uid") == "HUGEINT"
    assert width("SELECT SUM(x) FROM (SELECT x FROM t UNION ALL SELECT x FROM t UNION ALL SELECT x FROM t) AS u") == (
        "HUGEINT"
    )


def test_a_sum_that_only_joined_rows_make_too_large_is_refused_where_it_is_written():
    text = "SELECT SUM(a.big * 33554432) FROM t AS a"
    check(plan(read(text, CATALOG)))
    joined = f"{text} JOIN t AS b ON a.uid = b.uid"
    with pytest.raises(UnsupportedQuery, match="this sum can grow too large") as caught:
        read(joined, CATALOG)
    assert (caught.value.line, caught.value.column) == (1, 8)


@pytest.mark.parametrize("bounds", ["-1, 1152921504606846977", "-1152921504606846977, 0"])
def test_bounds_that_make_the_sum_of_totals_too_large_are_refused_where_they_are_written(bounds: str):
    """They are in the units of the value: with many decimals, a bound that is no large number is one."""
    check(plan(read(f"SELECT OWNER_SUM(x, {bounds}) FROM t", CATALOG)))
    with pytest.raises(UnsupportedQuery, match="this sum can grow too large") as caught:
        read(f"SELECT OWNER_SUM(CAST(x AS NUMERIC(30, 12)), {bounds}) FROM t", CATALOG)
    assert (caught.value.line, caught.value.column) == (1, 8)


def test_the_guard_refuses_it_by_itself():
    big = e.Stored("big1", -(2**62), 2**62, 0, False)
    value = e.Clamp(e.Multiply(big, e.Constant(2**26)), -(2**88), 2**88)
    check((Aggregate(OwnerLimit(scan("1"), 9), (), (SumRows(value),)),))
    joined = Retruncate(JoinOwner(OwnerLimit(scan("1"), 9), OwnerLimit(scan("2"), 9)), 9)
    with pytest.raises(UnsafePlan, match="a sum may exceed 126 bits"):
        check((Aggregate(joined, (), (SumRows(value),)),))
    with pytest.raises(UnsafePlan, match="a total may exceed 126 bits"):
        facts(OwnerAggregate(joined, (), (("v", Total("sum", value, None, 0, 1, True)),)))
