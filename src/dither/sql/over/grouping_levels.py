"""ROLLUP, CUBE and GROUPING SETS: the levels that they mean, and which of them are worth a measurement of their own.

A level that is not measured adds up a finer one, group by group. Where G groups are added up into g, the variance of
each sum is G/g times that of one of them. A level that is measured takes its part of the price from all others. What
is least on the whole is the product of all levels' variances, so that no level is counted by its units: with c levels
computed from a measured one, it gets the part c/L of the price for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

from sqlglot import exp

Level = tuple[int, ...]  # the places of its keys, ascending

MOST_LEVELS = 16
_MOST_TRIED = 12  # beyond so many levels all or the finest alone are measured


def expanded(items: Sequence[exp.Expr]) -> list[list[exp.Expr]]:
    """The keys of every level, in the order in which SQL has them, for the items of one GROUP BY."""
    return [[key for part in parts for key in part] for parts in product(*map(_sets, items))]


def counted_levels(items: Sequence[exp.Expr]) -> int:
    """How many levels they mean, without writing them down: CUBE has two to the power of its keys."""
    return math.prod(map(_count, items))


def _count(node: exp.Expr) -> int:
    if isinstance(node, exp.Rollup):
        return len(node.expressions) + 1
    if isinstance(node, exp.Cube):
        return 1 << len(node.expressions)
    return sum(_count(one) for one in node.expressions) if isinstance(node, exp.GroupingSets) else 1


def is_set(node: exp.Expr) -> bool:
    """Whether an item of GROUP BY means more than one level."""
    return isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets))


def _sets(node: exp.Expr) -> list[list[exp.Expr]]:
    parts = [_keys(part) for part in node.expressions] if is_set(node) else []
    if isinstance(node, exp.Rollup):
        chosen: list[tuple[list[exp.Expr], ...]] = [tuple(parts[:count]) for count in range(len(parts), -1, -1)]
    elif isinstance(node, exp.Cube):
        chosen = [some for count in range(len(parts), -1, -1) for some in combinations(parts, count)]
    elif isinstance(node, exp.GroupingSets):
        return [level for part in node.expressions for level in (_sets(part) if is_set(part) else [_keys(part)])]
    else:
        return [[node]]
    return [[key for part in some for key in part] for some in chosen]


def _keys(node: exp.Expr) -> list[exp.Expr]:
    """The keys of one element: several in parentheses, or one."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def sources(levels: Sequence[Level], counts: Sequence[int | None], kind: str) -> dict[Level, Level]:
    """From which measured level each one is computed: itself, or one that has all its keys.

    `counts` are the numbers of groups; None where keys come from the data, or values of groups do not add up.
    """
    groups = dict(zip(levels, counts, strict=True))
    own = {level: level for level in groups}
    if any(count is None for count in groups.values()):
        return own
    if len(groups) > _MOST_TRIED:
        tried = [own, _computed(tuple(groups), [max(groups, key=len)], groups)]
    else:
        some = (picked for count in range(1, len(groups) + 1) for picked in combinations(groups, count))
        tried = [_computed(tuple(groups), picked, groups) for picked in some]
    return min((found for found in tried if found is not None), key=lambda found: _error(found, groups, kind))


def _computed(
    levels: Sequence[Level], measured: Sequence[Level], groups: dict[Level, int | None]
) -> dict[Level, Level] | None:
    found = {}
    for level in levels:
        finer = [other for other in measured if set(level) <= set(other)]
        if not finer:
            return None
        found[level] = level if level in measured else min(finer, key=lambda other: groups[other] or 0)
    return found


def _error(found: dict[Level, Level] | None, groups: dict[Level, int | None], kind: str) -> tuple[float, int]:
    """The logarithm of the product of all variances, up to a constant; then how many levels are measured."""
    if found is None:
        return math.inf, 0
    power = 1 if kind == "zcdp" else 2  # a variance falls with rho, or with the square of epsilon
    served = list(found.values())
    added = sum(math.log((groups[source] or 1) / (groups[level] or 1)) for level, source in found.items())
    paid = sum(power * math.log(served.count(source) / len(served)) for source in served)
    return round(added - paid, 9), len(set(served))
