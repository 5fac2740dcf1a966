"""Levels of GROUP BY as PostgreSQL expands them, and which of them are measured."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
import sqlglot

from dither.sql.over.grouping_levels import Level, _error, counted_levels, expanded, sources


@pytest.mark.parametrize(
    ("clause", "levels"),
    [
        ("a, b", ["a b"]),
        ("ROLLUP (a, b)", ["a b", "a", ""]),
        ("CUBE (a, b)", ["a b", "a", "b", ""]),
        ("GROUPING SETS ((a, b), a, ())", ["a b", "a", ""]),
        ("GROUPING SETS (ROLLUP (a, b), c)", ["a b", "a", "", "c"]),
        ("c, ROLLUP (a)", ["c a", "c"]),
        ("ROLLUP ((a, b), c)", ["a b c", "a b", ""]),
        ("ROLLUP (a), ROLLUP (b)", ["a b", "a", "b", ""]),
    ],
)
def test_levels_as_sql_has_them(clause: str, levels: list[str]) -> None:
    tree = sqlglot.parse_one(f"SELECT COUNT(*) FROM t GROUP BY {clause}", dialect="postgres")
    found = expanded(tree.args["group"].expressions)
    assert [" ".join(key.sql() for key in level) for level in found] == levels
    assert counted_levels(tree.args["group"].expressions) == len(levels)


def best(levels: list[Level], groups: dict[Level, int], kind: str) -> float:
    """The least product of variances, over every choice of measured levels and every source of the others."""
    least, power = math.inf, 1 if kind == "zcdp" else 2
    for count in range(1, len(levels) + 1):
        for measured in combinations(levels, count):
            served, added = [], 0.0
            for level in levels:
                finer = [other for other in measured if set(level) <= set(other)]
                if not finer:
                    break
                source = level if level in measured else min(finer, key=lambda other: groups[other])
                served.append(source)
                added += math.log(groups[source] / groups[level])
            else:
                paid = sum(power * math.log(served.count(one) / len(levels)) for one in served)
                least = min(least, added - paid)
    return least


@pytest.mark.parametrize("kind", ["zcdp", "pure"])
@pytest.mark.parametrize("sizes", [(2, 2), (4, 1000), (50, 3), (2, 3, 5)])
def test_the_best_levels_are_measured(kind: str, sizes: tuple[int, ...]) -> None:
    places = range(len(sizes))
    levels = [some for count in range(len(sizes), -1, -1) for some in combinations(places, count)]
    groups = {level: math.prod(sizes[place] for place in level) for level in levels}
    found = sources(levels, [groups[level] for level in levels], kind)
    assert _error(found, dict(groups), kind)[0] == pytest.approx(best(levels, groups, kind), abs=1e-6)
    assert all(set(level) <= set(source) for level, source in found.items())


def test_what_does_not_add_up_is_measured() -> None:
    levels: list[Level] = [(0, 1), (0,), ()]
    assert sources(levels, [None, 4, 1], "zcdp") == {level: level for level in levels}


def test_few_groups_are_added_up_and_many_measured() -> None:
    assert set(sources([(0,), ()], [2, 1], "zcdp").values()) == {(0,)}
    assert set(sources([(0,), ()], [1000, 1], "zcdp").values()) == {(0,), ()}
