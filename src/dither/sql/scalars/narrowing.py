"""What WHERE leaves of a column: rows that are kept have its values in certain runs, and no NULL.

It is public, since it follows from the question and the declarations alone. Nothing has to trust it: a narrowed column
is written as a clamp, which does nothing to a row that WHERE has kept, and holds for any other row too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dither.policy.columns import Category, Coded, Column, Date, Int
from dither.policy.columns.key_domains import Listed
from dither.sql import expressions as e
from dither.sql.expressions.simplifier import united
from dither.sql.plan.nodes import Filter, JoinOwner, JoinPublic, Node, OwnerAggregate, OwnerWindow, Project, SemiJoin

Runs = tuple[e.Run, ...]
Kept = Mapping[str, Runs]
MOST_PLACES = 1_000  # values of a key that are told apart one by one


def kept(node: Node) -> dict[str, Runs]:
    """The runs of codes that conditions, also those of joins, leave of a relation's columns; none may be NULL."""
    return {name: runs for name, runs in _kept(node).items() if runs}  # a condition that never holds narrows nothing


def _kept(node: Node) -> dict[str, Runs]:
    if isinstance(node, Filter):
        return _all_of([_kept(node.child), _left_by(node.predicate)])
    if isinstance(node, (SemiJoin, OwnerWindow)):
        return _kept(node.child)
    if isinstance(node, (Project, OwnerAggregate)):
        inner = _kept(node.child)
        columns = node.columns if isinstance(node, Project) else node.keys
        bare = {name: value.name for name, value in columns if isinstance(value, e.Stored)}
        return {name: inner[own] for name, own in bare.items() if own in inner}
    if isinstance(node, (JoinPublic, JoinOwner)):
        other = node.public if isinstance(node, JoinPublic) else node.other
        return {**_kept(node.child), **({} if node.outer else _kept(other))}
    return {}


def narrowed(column: e.Stored, runs: Runs) -> e.Numeric:
    """A column as rows that are kept have it: within the first and the last of its runs, never NULL."""
    low, high = runs[0][0], runs[-1][1]
    if (low, high) == (column.least, column.most):
        return column
    present = e.Coalesce((column, e.Constant(low, column.decimals))) if column.may_be_null else column
    return e.Clamp(present, low, high)


def narrowed_key(column: e.Stored, declared: Column, runs: Runs) -> tuple[e.Numeric, Column]:
    """A grouping column with the groups that are left: the code, and the declaration that decodes it."""
    low, high = runs[0][0], runs[-1][1]
    present: e.Numeric = e.Coalesce((column, e.Constant(low))) if column.may_be_null else column
    apart = sum(last - first + 1 for first, last in runs) <= MOST_PLACES
    codes = [code for first, last in runs for code in range(first, last + 1)] if apart else []
    if isinstance(declared, Category) and apart and len(codes) < len(declared.values):
        labels = tuple(declared.values[code] for code in codes)
        return _placed(present, codes), Category(labels, nullable=False, default=labels[0])
    if isinstance(declared, (Int, Date)) and apart and len(runs) > 1:
        return _placed(present, codes), Listed(tuple(codes), declared.shown, 0, nullable=False)
    if isinstance(declared, Int):
        return e.Clamp(present, low, high), Int(low, high, nullable=False, default=low)
    if isinstance(declared, Date):
        first, last = declared.decode(low), declared.decode(high)
        return e.Clamp(present, low, high), Date(first, last, nullable=False, default=first)
    if isinstance(declared, Coded) and declared.key_count is not None:
        whole = replace(declared, nullable=False, default=declared.decode(declared.low))
        return e.Clamp(present, declared.low, declared.high), whole
    return column, declared


def _placed(value: e.Numeric, codes: list[int]) -> e.Numeric:
    """The place of each code among those that are left."""
    steps = e.Steps(value, tuple(codes[1:]), tuple(range(len(codes))))
    return e.Clamp(steps, 0, len(codes) - 1)


def _left_by(condition: e.Boolean) -> dict[str, Runs]:
    """The codes of stored columns for which alone a condition can be true, by the names of the columns."""
    if isinstance(condition, e.And):
        return _all_of([_left_by(operand) for operand in condition.operands])
    if isinstance(condition, e.Or):
        first, *others = [_left_by(operand) for operand in condition.operands]
        shared = [name for name in first if all(name in other for other in others)]
        return {name: united([run for part in (first, *others) for run in part[name]]) for name in shared}
    column, runs = _about(condition)
    return {} if column is None else {column.name: _both(((column.least, column.most),), runs)}


def _all_of(parts: Iterable[Mapping[str, Runs]]) -> dict[str, Runs]:
    found: dict[str, Runs] = {}
    for part in parts:
        for name, runs in part.items():
            found[name] = _both(found[name], runs) if name in found else runs
    return found


def _about(condition: e.Boolean) -> tuple[e.Stored | None, Runs]:
    """The stored column that a condition is about and the codes for which it is true; None if it is another kind."""
    if isinstance(condition, e.Among) and isinstance(condition.value, e.Stored):
        return condition.value, condition.runs
    if isinstance(condition, e.Compare) and condition.operator == "<=":
        left, right = condition.left, condition.right
        if isinstance(left, e.Stored) and isinstance(right, e.Constant):
            return left, ((left.least, right.value),)
        if isinstance(left, e.Constant) and isinstance(right, e.Stored):
            return right, ((left.value, right.most),)
    if isinstance(condition, e.Not) and isinstance(condition.operand, e.IsNull):
        inner = condition.operand.value
        return (inner, ((inner.least, inner.most),)) if isinstance(inner, e.Stored) else (None, ())
    if isinstance(condition, e.Not) and isinstance(condition.operand, e.Among):
        value = condition.operand.value
        if isinstance(value, e.Stored):
            return value, _complement(condition.operand.runs, value.least, value.most)
    return None, ()


def _both(one: Runs, other: Runs) -> Runs:
    """The numbers in runs of both."""
    found = []
    for first, last in one:
        for start, end in other:
            if max(first, start) <= min(last, end):
                found.append((max(first, start), min(last, end)))
    return tuple(sorted(found))


def _complement(runs: Runs, low: int, high: int) -> Runs:
    found, start = [], low
    for first, last in runs:
        if start < first:
            found.append((start, min(first - 1, high)))
        start = max(start, last + 1)
    if start <= high:
        found.append((start, high))
    return tuple(found)
