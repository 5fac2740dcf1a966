"""Which values an expression can take, found by trying all values of its columns, or where that is too many by rule.

Declarations alone are looked at: the same for every table that fits them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.sql import expressions as e
from dither.sql.expressions.evaluator import NotEvaluated, Values, evaluate
from dither.sql.memo import remembered

MOST_TRIED = 20_000  # combinations of column values
MOST_WORK = 1_000_000  # combinations times the size of the expression

Listing = range | tuple[int, ...]


@dataclass(frozen=True)
class Domain:
    """Ascending values, or None where there are too many to list; and whether NULL is among them."""

    values: Listing | None
    null: bool


@remembered
def domain(node: e.Numeric) -> Domain | None:
    """What the expression can be; None if nothing better is known than its bounds."""
    return _tried(node) or _by_rule(node)


def _tried(node: e.Numeric) -> Domain | None:
    columns = {leaf.name: leaf for leaf in node.walk() if isinstance(leaf, e.Stored)}
    count = math.prod(leaf.most - leaf.least + 1 + leaf.may_be_null for leaf in columns.values())
    if count > MOST_TRIED or count * node.size > MOST_WORK:
        return None
    try:
        found = evaluate(node, _combinations(list(columns.values()), count))
    except NotEvaluated:
        return None
    return Domain(_listing(np.unique(found.of[~found.null])), bool(found.null.any()))


def _combinations(columns: list[e.Stored], count: int) -> dict[str, Values]:
    """Every value of every column beside every other, NULL after the last value of a column that has it."""
    combined: dict[str, Values] = {}
    faster = count
    for column in columns:
        size = column.most - column.least + 1 + column.may_be_null
        faster //= size
        places = np.arange(count, dtype=np.int64) // faster % size
        null = places == size - 1 if column.may_be_null else np.zeros(count, bool)
        combined[column.name] = Values(np.where(null, column.least, places + column.least), null)
    return combined


def _listing(values: NDArray[Any]) -> Listing:
    listed = tuple(int(value) for value in values)
    if len(listed) < 2:
        return range(listed[0], listed[0] + 1) if listed else ()
    step = listed[1] - listed[0]
    if listed[-1] - listed[0] != step * (len(listed) - 1):  # a range may be longer than len() can tell
        return listed
    even = range(listed[0], listed[-1] + 1, step)
    return even if tuple(even) == listed else listed


# By rule: a node's values are all numbers from its least to its greatest in equal steps


def _by_rule(node: e.Numeric) -> Domain | None:
    step = _step(node)
    if step is None:
        return None
    return Domain(range(node.low, node.high + 1, step or 1), node.nullable)


def _step(node: e.Numeric) -> int | None:
    """The distance between neighbouring values, 0 if there is one value only; None if they do not lie evenly."""
    if node.low == node.high:
        return 0
    rule = _STEPS.get(type(node))
    return None if rule is None else rule(node)


def _sum(node: e.Binary) -> int | None:
    left, right = _step(node.left), _step(node.right)
    if left is None or right is None:
        return None
    fine, coarse = sorted((left, right))
    if fine == 0:
        return coarse
    one = node.left if left == fine else node.right
    if {leaf.text for leaf in node.left.walk() if isinstance(leaf, e.Stored)} & {
        leaf.text for leaf in node.right.walk() if isinstance(leaf, e.Stored)
    }:
        return None  # they move together
    return fine if coarse % fine == 0 and one.high - one.low >= coarse - fine else None


def _product(node: e.Multiply) -> int | None:
    factor, other = (node.left, node.right) if isinstance(node.left, e.Constant) else (node.right, node.left)
    step = _step(other)
    return step * abs(factor.value) if isinstance(factor, e.Constant) and step is not None else None


def _quotient(node: e.Divide) -> int | None:
    if not isinstance(node.right, e.Constant) or node.right.value < 1:
        return None
    gap = _gap(_before_rounding(node))
    if gap is not None and gap <= node.right.value:
        return 1
    step = _step(node.left)
    even = step is not None and step % node.right.value == 0 and node.left.low % node.right.value == 0
    return step // node.right.value if step is not None and even else None


def _before_rounding(node: e.Divide) -> e.Numeric:
    """The v of (v + v % d) / d, which rounds; of any other quotient what is divided."""
    if isinstance(node.left, e.Add):
        for value, rest in ((node.left.left, node.left.right), (node.left.right, node.left.left)):
            if rest == e.Modulo(value, node.right):
                return value
    return node.left


def _gap(node: e.Numeric) -> int | None:
    """How far apart neighbouring values are at most."""
    if isinstance(node, e.Clamp):
        return _gap(node.value)
    if isinstance(node, e.Add) and isinstance(node.left, e.Constant):
        return _gap(node.right)
    if isinstance(node, e.Add) and isinstance(node.right, e.Constant):
        return _gap(node.left)
    return _step(node)


def _rest(node: e.Modulo) -> int | None:
    if _step(node.left) != 1 or not isinstance(node.right, e.Constant):
        return None
    room = abs(node.right.value) - 1
    covers = node.left.low >= 0 and node.left.high - node.left.low >= room
    return 1 if covers or (node.left.low <= -room and node.left.high >= room) else None


def _same(node: Any) -> int | None:
    return _step(node.value)


def _dense(node: Any) -> int | None:
    return 1 if _step(node.value) == 1 else None


def _filled(node: e.Coalesce) -> int | None:
    """NULL replaced by a value that there is already."""
    first, *others = node.values
    inside = all(isinstance(other, e.Constant) and first.low <= other.value <= first.high for other in others)
    return 1 if inside and _step(first) == 1 else None


def _rescaled(node: e.Rescale) -> int | None:
    step = _step(node.value)
    return None if step is None else step * node.factor


_STEPS: dict[type[e.Numeric], Callable[[Any], int | None]] = {
    e.Stored: lambda node: 1,
    e.Indicator: lambda node: 1,
    e.Length: lambda node: 1,
    e.Add: _sum,
    e.Subtract: _sum,
    e.Multiply: _product,
    e.Divide: _quotient,
    e.Modulo: _rest,
    e.Negate: _same,
    e.Rescale: _rescaled,
    e.Absolute: _dense,
    e.Clamp: _dense,
    e.Shifted: _dense,
    e.DatePart: _dense,
    e.Coalesce: _filled,
}
