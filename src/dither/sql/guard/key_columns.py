"""Columns that the keys of an aggregation tell apart: two rows of one group have the same value there.

A key that is a column as it is tells it apart. So does one that a condition below has narrowed, if the code of the key
is another for each value that the condition leaves. Any other computed key may put several values into one group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import reduce

from dither.sql import expressions as e
from dither.sql.plan.nodes import (
    Aggregate,
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerWindow,
    Project,
    Retruncate,
    SemiJoin,
)

Runs = tuple[e.Run, ...]
_MOST_CODES = 1_000  # that are looked at one by one


def told_apart(aggregate: Aggregate) -> set[str]:
    """The names of these columns."""
    left = _left(aggregate.child)
    named = (_column(key.code, left) for key in aggregate.keys)
    return {name for name in named if name is not None}


def _column(code: e.Expression, left: dict[str, Runs]) -> str | None:
    """The column of which the code tells apart every value that is left."""
    if isinstance(code, (e.Stored, e.StoredText)):
        return code.name
    if type(code) is not e.Clamp:
        return None
    steps, value = None, code.value
    if type(value) is e.Steps:
        steps, value = value, value.value
    if type(value) is e.Coalesce and len(value.values) == 2 and isinstance(value.values[1], e.Constant):
        value = value.values[0]  # the other one stands for NULL, and none is left
    if type(value) is not e.Stored or value.name not in left:
        return None
    runs = left[value.name]
    if steps is None:
        return value.name if all(code.least <= first and last <= code.most for first, last in runs) else None
    if sum(last - first + 1 for first, last in runs) > _MOST_CODES:
        return None
    places = [steps.results[bisect_right(steps.starts, one)] for first, last in runs for one in range(first, last + 1)]
    apart = len(set(places)) == len(places) and all(code.least <= place <= code.most for place in places)
    return value.name if apart else None


def _left(node: Node) -> dict[str, Runs]:
    """The runs of codes that conditions leave of a relation's columns. None of them is NULL on a row that is left."""
    if isinstance(node, Filter):
        found = _left(node.child)
        for column, runs in _left_by(node.predicate).items():
            found[column.name] = _both(found.get(column.name, ((column.least, column.most),)), runs)
        return found
    if isinstance(node, (SemiJoin, Retruncate, OwnerWindow)):  # each keeps some rows as they are
        return _left(node.child)
    if isinstance(node, (JoinPublic, JoinOwner)):  # a row of the left stays as it is, one of the right if it is found
        other = node.public if isinstance(node, JoinPublic) else node.other
        return {**_left(node.child), **({} if node.outer else _left(other))}
    if isinstance(node, Project):
        inner = _left(node.child)
        bare = {name: value.name for name, value in node.columns if type(value) is e.Stored}
        return {name: inner[own] for name, own in bare.items() if own in inner}
    return {}


def _left_by(condition: e.Boolean) -> dict[e.Stored, Runs]:
    """The codes of columns for which alone a condition can be true: all of its parts hold, or one of them."""
    if type(condition) not in (e.And, e.Or):
        return dict(_holds(condition))
    parts = [_left_by(operand) for operand in condition.operands]  # type: ignore[attr-defined]
    found: dict[e.Stored, Runs] = {}
    for column in dict.fromkeys(column for part in parts for column in part):
        told = [part[column] for part in parts if column in part]
        if type(condition) is e.And:
            found[column] = reduce(_both, told)
        elif len(told) == len(parts):
            found[column] = _once([run for runs in told for run in runs])
    return found


def _once(runs: Iterable[e.Run]) -> Runs:
    """Runs without what an earlier one has already."""
    found: list[e.Run] = []
    for first, last in sorted(runs):
        start = max(first, found[-1][1] + 1) if found else first
        found += [(start, last)] if start <= last else []
    return tuple(found)


def _holds(condition: e.Boolean) -> Iterable[tuple[e.Stored, Runs]]:
    """A column that the condition is about, and the codes for which alone it can be true; nothing if it is another."""
    if type(condition) is e.Among and type(condition.value) is e.Stored:
        yield condition.value, condition.runs
    if type(condition) is e.Compare and condition.operator == "<=" and condition.left.scale == condition.right.scale:
        left, right = condition.left, condition.right
        if type(left) is e.Stored and type(right) is e.Constant:
            yield left, ((left.least, min(left.most, right.value)),)
        if type(left) is e.Constant and type(right) is e.Stored:
            yield right, ((max(left.value, right.least), right.most),)
    if type(condition) is e.Not:
        inner = condition.operand
        if type(inner) is e.IsNull and type(inner.value) is e.Stored:
            yield inner.value, ((inner.value.least, inner.value.most),)
        if type(inner) is e.Among and type(inner.value) is e.Stored:
            yield inner.value, _others(inner.runs, inner.value.least, inner.value.most)


def _both(one: Runs, other: Runs) -> Runs:
    pairs = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(sorted((first, last) for first, last in pairs if first <= last))


def _others(runs: Runs, least: int, most: int) -> Runs:
    """The codes in least..most outside of ascending runs."""
    firsts = (least, *(last + 1 for _, last in runs))
    lasts = (*(first - 1 for first, _ in runs), most)
    return _both(tuple(zip(firsts, lasts, strict=True)), ((least, most),))
