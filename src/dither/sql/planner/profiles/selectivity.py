"""About what share of all rows conditions keep: from declared domains and released quantiles alone.

Columns are taken to be independent of each other, and their values to be as the profile says or else evenly spread over
what is declared. A wrong share makes an answer less accurate, never less private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from dither.sql.expressions import And, Boolean, Compare, Expression, Indicator, Not, Numeric, Or, Stored
from dither.sql.expressions.evaluator import NotEvaluated, evaluate
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import Filter, JoinOwner, JoinPublic, Node, Project, SemiJoin, UnionAll
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.profiles.value_spread import LARGEST, sample

_TRIED = 2048
_LEAST = 1 / (2 * _TRIED)


def kept(source: Node, profile: Profile | None) -> float:
    """The share of rows that reach the aggregation; 1 for what cannot be told."""
    return math.prod(_of_all(conditions(source), profile), start=1.0)


def groups_kept(source: Node, keys: Iterable[Expression], profile: Profile | None) -> float:
    """The share of groups that can have rows: by conditions about columns that keys are made of."""
    made = dict(column for node in source.walk() if isinstance(node, Project) for column in node.columns)
    read: set[str] = set()
    left = [leaf for key in keys for leaf in key.walk()]
    while left:
        leaf = left.pop()
        if isinstance(leaf, Stored) and leaf.name not in read:
            read.add(leaf.name)
            left += made[leaf.name].walk() if leaf.name in made else ()
    about = (part for condition in conditions(source) for part in _flat(condition))
    return math.prod(_of_all((part for part in about if _columns((part,)).keys() <= read), profile), start=1.0)


def conditions(node: Node) -> Iterator[Boolean]:
    """What every row must fulfil; not what is only looked for beside it."""
    if isinstance(node, Filter):
        yield node.predicate
    if isinstance(node, (JoinPublic, JoinOwner)) and not node.outer and node.condition is not None:
        yield node.condition
    if isinstance(node, JoinPublic) and not node.outer:
        key = facts(node.public).distinct or frozenset()
        for ours, theirs in node.equal:  # what must agree beyond the key that a row is found by
            if isinstance(ours, Numeric) and isinstance(theirs, Stored) and theirs.name not in key:
                yield Compare("=", ours, theirs)
    if isinstance(node, UnionAll):
        return
    if isinstance(node, JoinOwner):
        yield from conditions(node.other)
    if isinstance(node, (SemiJoin, JoinPublic)):
        yield from conditions(node.child)
        return
    child = getattr(node, "child", None)
    if isinstance(child, Node):
        yield from conditions(child)


def share(condition: Boolean, profile: Profile | None) -> float:
    """The share of rows for which a condition is true."""
    if isinstance(condition, And):
        return math.prod(_of_all(condition.operands, profile), start=1.0)
    if isinstance(condition, Or):
        return 1 - math.prod(1 - share(part, profile) for part in condition.operands)
    if isinstance(condition, Not):
        return max(_LEAST, 1 - share(condition.operand, profile)) if _simple(condition) else 1.0
    return _tried((condition,), profile)


def _of_all(conditions: Iterable[Boolean], profile: Profile | None) -> Iterator[float]:
    """Of conditions that must all hold: those about the same columns are tried together."""
    together: dict[frozenset[str], list[Boolean]] = {}
    for condition in conditions:
        for part in _flat(condition):
            if isinstance(part, Or):
                yield share(part, profile)
            else:
                together.setdefault(frozenset(_columns((part,))), []).append(part)
    for parts in together.values():
        yield _tried(parts, profile)


def _flat(condition: Boolean) -> Iterator[Boolean]:
    if isinstance(condition, And):
        for part in condition.operands:
            yield from _flat(part)
    else:
        yield condition


def _simple(condition: Boolean) -> bool:
    return bool(_columns((condition,)))


def _columns(conditions: Iterable[Boolean]) -> dict[str, Stored]:
    return {leaf.name: leaf for part in conditions for leaf in part.walk() if isinstance(leaf, Stored)}


def _tried(conditions: Iterable[Boolean], profile: Profile | None) -> float:
    parts = tuple(conditions)
    found = _columns(parts)
    if not found or any(column.reach > LARGEST for column in found.values()):
        return 1.0
    drawn = sample(found.values(), profile, _TRIED)
    holds = np.ones(_TRIED, dtype=bool)
    try:
        for part in parts:
            truth = evaluate(Indicator(part), drawn)
            holds &= (truth.of != 0).astype(bool) & ~truth.null
    except NotEvaluated:
        return 1.0
    return max(_LEAST, float(holds.mean()))
