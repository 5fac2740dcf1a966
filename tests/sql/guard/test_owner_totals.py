"""The guard's own bounds of totals per owner: counts of different values and medians, and plans that misstate them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Fixed, Int, Text
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import OwnerAggregate, OwnerLimit, Scan, Total

TABLE = Table("t", "people", "uid", 6, {"x": Int(-3, 9), "m": Fixed(0, 5, decimals=2), "s": Text(max_length=8)}, 1)
SCAN = Scan(TABLE, (("x", "x"), ("m", "m"), ("s", "s")))
X, S = e.Stored("x", -3, 9, 0, True), e.StoredText("s", True, 8)


def moved(text: str) -> list[int]:
    checked = check(plan(read(text, Catalog({"t": TABLE}))))
    return [int(one.l1) for part in checked for one in part]


@pytest.mark.parametrize(
    ("total", "moves"),
    [("COUNT(DISTINCT x)", 6), ("COUNT(DISTINCT s)", 6), ("MEDIAN(x)", 90), ("MEDIAN(m)", 5000), ("MAX(x)", 9)],
)
def test_what_an_owner_moves(total: str, moves: int) -> None:
    assert moved(f"SELECT SUM(q) FROM (SELECT uid, {total} AS q FROM t GROUP BY uid) AS q") == [moves]


def test_all_counts_of_different_values_of_an_owner_are_as_many_as_rows() -> None:
    inner = "SELECT uid, x, COUNT(DISTINCT s) AS q FROM t GROUP BY uid, x"
    assert moved(f"SELECT x, SUM(q) FROM ({inner}) AS q GROUP BY x") == [6]


@pytest.mark.parametrize(
    "total",
    [
        Total("mean", X, None, 0, 1, True),
        Total("distinct", None, None, 0, 6, False),
        Total("median", S, None, 0, 1, True),  # type: ignore[arg-type]
        Total("median", replace(X, most=100), None, -3, 9, True),
        Total("distinct", replace(S, max_length=2), None, 0, 6, False),
        Total("distinct", X, None, 6, 0, False),
    ],
)
def test_totals_that_are_misstated(total: Total) -> None:
    with pytest.raises(UnsafePlan):
        facts(OwnerAggregate(OwnerLimit(SCAN, 6), (), (("q", total),)))
