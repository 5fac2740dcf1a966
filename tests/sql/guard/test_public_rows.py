"""How many public rows one row finds, and what the guard makes of it: against all pairs, counted."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Category, Int
from dither.policy.shape import Shape
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.guard.facts import facts, most_found, several_relations
from dither.sql.plan.nodes import JoinPublic, PublicAggregate, Total

COLUMNS = {"x": Int(0, 9), "y": Int(0, 9), "g": Category(["a", "b"])}
ROWS = [(1, 3, "a"), (3, 5, "a"), (2, 9, "b"), (None, 4, "b"), (7, 6, "b"), (8, 8, None)]
PUBLIC = {"k": Int(0, 9), "a": Int(0, 9), "b": Int(0, 9), "g": Category(["a", "b"])}
SHAPE = Shape(6, {"k": 1, "a": 1, "b": 1, "g": 3}, {("a", "b"): (3, 2), ("b", "a"): (1, 0)})
KEPT = 5
CATALOG = Catalog({"t": Table("t", "all", "uid", KEPT, COLUMNS, 1, owner_type="BIGINT")})


def catalog(shape: Shape = SHAPE) -> Catalog:
    return replace(CATALOG, public={"pub": PublicTable("pub", PUBLIC, ("k",), 2, shape=shape)})


def found(condition: str, shape: Shape = SHAPE, join: str = "JOIN") -> int:
    """The rows of one owner that count, for each of those that were read."""
    (aggregate,) = plan(read(f"SELECT COUNT(*) FROM t {join} pub p ON {condition}", catalog(shape)))
    ((sensitivity,),) = check((aggregate,))
    assert sensitivity.l1 % KEPT == 0
    return int(sensitivity.l1) // KEPT


CONDITIONS: dict[str, tuple[int, Any]] = {
    "t.x = p.k": (1, None),
    "t.g = p.g": (3, lambda x, y, g, a, b, h: g == h),
    "t.x BETWEEN p.a AND p.b": (3, lambda x, y, g, a, b, h: a <= x <= b),
    "t.x >= p.a AND t.x < p.b": (2, lambda x, y, g, a, b, h: a <= x < b),
    "p.a < t.x AND p.b >= t.x": (2, lambda x, y, g, a, b, h: a < x <= b),
    "p.a < t.x AND p.b > t.x AND p.g = 'a'": (2, lambda x, y, g, a, b, h: a < x < b and h == "a"),
    "t.x + t.y BETWEEN p.a AND p.b": (3, lambda x, y, g, a, b, h: a <= x + y <= b),
    "p.a <= t.x AND t.y <= p.b": (6, lambda x, y, g, a, b, h: a <= x and y <= b),  # not around one value
    "t.x <= p.b": (6, lambda x, y, g, a, b, h: x <= b),
    "t.x BETWEEN p.b AND p.a": (1, lambda x, y, g, a, b, h: b <= x <= a),
    "t.x <> p.b OR t.x BETWEEN p.a AND p.b": (6, lambda x, y, g, a, b, h: True),
}


def most(holds: Any) -> int:
    """By trying all rows that there can be. NULL makes no comparison true."""
    draws = [(x, y, g) for x in range(10) for y in range(10) for g in "ab"]
    rows = [(0 if a is None else a, b, g) for a, b, g in ROWS if a is not None]
    return max(sum(bool(holds(*mine, *theirs)) for theirs in rows) for mine in draws)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_that_are_found(condition: str) -> None:
    claimed, holds = CONDITIONS[condition]
    assert found(condition) == claimed == found(condition, join="LEFT JOIN")
    assert holds is None or most(holds) <= claimed


def test_planted_two_values_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges around different values of a row are taken for ranges around one."""
    sound = several_relations._around_a_value
    monkeypatch.setattr(
        several_relations, "_around_a_value", lambda *given: [*sound(*given), SHAPE.around["a", "b"][0]]
    )
    condition = "p.a <= t.x AND t.y <= p.b"
    with pytest.raises(AssertionError):
        assert found(f"{condition} AND 1 < 2") >= most(CONDITIONS[condition][1])


def test_a_table_of_unknown_size_is_joined_on_its_key_alone() -> None:
    with pytest.raises(Exception, match="not joined on its key"):
        found("t.x < p.b", Shape())
    (aggregate,) = plan(read("SELECT COUNT(*) FROM t JOIN pub p ON t.x < p.b", catalog()))
    (join,) = [node for node in aggregate.walk() if isinstance(node, JoinPublic)]
    table = replace(join.public.table, shape=Shape())  # type: ignore[attr-defined]
    unknown = replace(join, public=replace(join.public, table=table))  # type: ignore[call-arg]
    with pytest.raises(UnsafePlan, match="of unknown size"):
        most_found(unknown)
    assert most_found(replace(unknown, public=replace(join.public, table=replace(table, max_rows=4)))) == 4  # type: ignore[call-arg]


def test_totals_of_no_rows_may_be_null() -> None:
    (aggregate,) = plan(read("SELECT COUNT(*) FROM t WHERE x > (SELECT MAX(a) FROM pub)", catalog()))
    (made,) = [node for node in aggregate.walk() if isinstance(node, PublicAggregate)]
    assert facts(made).total == 1
    ((name, total),) = made.totals
    wrong = replace(made, totals=((name, replace(total, nullable=False)),))
    with pytest.raises(UnsafePlan, match="of no rows is NULL"):
        facts(wrong)
    people = replace(
        made, child=aggregate.child.walk().__next__(), totals=((name, Total("count", None, None, 0, 9, False)),)
    )
    with pytest.raises(UnsafePlan, match="rows of people"):
        facts(people)


def test_random_ranges_are_bounded() -> None:
    """A shape that brute force found bounds what brute force finds."""
    draw = random.Random(7)
    for _ in range(20):
        ranges = [(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(6)]
        closed = max(sum(a <= p <= b for a, b in ranges) for p in range(10))
        open_ = max(sum(a <= p < b for a, b in ranges) for p in range(10))
        shape = Shape(6, {}, {("a", "b"): (closed, open_)})
        assert found("t.x BETWEEN p.a AND p.b", shape) == max(1, closed)
        assert found("t.x > p.a AND t.x < p.b", shape) == max(1, open_)
