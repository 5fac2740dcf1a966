"""The range of every expression, derived anew from the declared columns for the guard.

It shares no code with the bounds that expressions carry: those plan, these judge. A node not listed here is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.columns import Coded, Text
from dither.errors import PolicyError
from dither.sql import expressions as e
from dither.sql import patterns
from dither.sql.catalog import Table

Interval = tuple[int, int]
LARGEST = 2**126


class UnsafePlan(PolicyError):
    """A plan whose sensitivity cannot be proven. It is never run; if it appears, dither has a fault."""


def interval(node: e.Expression, table: Table) -> Interval:
    """Where a number must lie on every row of the table, all its parts being provably small enough to compute."""
    rule = NUMBERS.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the expression {type(node).__name__} is not known to be safe.")
    low, high = rule(node, table)
    if not (-LARGEST < low <= high < LARGEST):
        raise UnsafePlan(f"the expression {type(node).__name__} may exceed 126 bits.")
    return low, high


def verify(node: e.Expression, table: Table) -> None:
    """That a condition consists of known, total parts over declared columns."""
    if type(node) in NUMBERS:
        interval(node, table)
    elif type(node) in OTHERS:
        OTHERS[type(node)](node, table)
        for child in node.children():
            verify(child, table)
    else:
        raise UnsafePlan(f"the expression {type(node).__name__} is not known to be safe.")


def _stored(node: e.Stored, table: Table) -> Interval:
    declared = table.columns.get(node.name)
    if not isinstance(declared, Coded):
        raise UnsafePlan(f"{node.name!r} is not a declared column of {table.name!r} with bounds.")
    said = (node.least, node.most, node.decimals, node.may_be_null)
    if said != (declared.low, declared.high, declared.decimals, declared.nullable):
        raise UnsafePlan(f"the plan misstates the declaration of {node.name!r}.")
    return declared.low, declared.high


def _corners(node: e.Binary, table: Table) -> Interval:
    (a, b), (c, d) = interval(node.left, table), interval(node.right, table)
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _add(node: e.Add, table: Table) -> Interval:
    (a, b), (c, d) = interval(node.left, table), interval(node.right, table)
    return a + c, b + d


def _subtract(node: e.Subtract, table: Table) -> Interval:
    (a, b), (c, d) = interval(node.left, table), interval(node.right, table)
    return a - d, b - c


def _divide(node: e.Divide, table: Table) -> Interval:
    (a, b), _ = interval(node.left, table), interval(node.right, table)
    size = max(-a, b, 0)  # dividing by a whole number other than 0 never makes a number larger
    return -size, size


def _modulo(node: e.Modulo, table: Table) -> Interval:
    (a, b), (c, d) = interval(node.left, table), interval(node.right, table)
    rest = max(-c, d, 1) - 1
    return -min(rest, max(-a, 0)), min(rest, max(b, 0))


def _negate(node: e.Negate, table: Table) -> Interval:
    a, b = interval(node.value, table)
    return -b, -a


def _absolute(node: e.Absolute, table: Table) -> Interval:
    a, b = interval(node.value, table)
    return 0, max(-a, b)


def _rescale(node: e.Rescale, table: Table) -> Interval:
    a, b = interval(node.value, table)
    if node.decimals < node.value.scale:
        raise UnsafePlan("a rescaling would lose digits.")
    return a * node.factor, b * node.factor


def _union(values: tuple[e.Numeric, ...], table: Table) -> Interval:
    ends = [interval(value, table) for value in values]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _case(node: e.Case, table: Table) -> Interval:
    if len(node.conditions) != len(node.values) or not node.values:
        raise UnsafePlan("a CASE needs one value for each condition.")
    for condition in node.conditions:
        verify(condition, table)
    return _union((*node.values, node.otherwise), table)


def _several(node: e.Several, table: Table) -> Interval:
    return _union(node.values, table)


def _clamp(node: e.Clamp, table: Table) -> Interval:
    interval(node.value, table)
    if not node.least <= node.most:
        raise UnsafePlan("a clamp needs least <= most.")
    return node.least, node.most


def _stored_text(node: e.StoredText, table: Table) -> None:
    if not isinstance(table.columns.get(node.name), Text):
        raise UnsafePlan(f"{node.name!r} is not a declared text column of {table.name!r}.")


def _pattern(node: e.Like, table: Table) -> None:
    try:
        patterns.normal_pattern(node.pattern)
    except patterns.BadPattern as error:
        raise UnsafePlan(str(error)) from None


def _comparison(node: e.Compare | e.CompareText, table: Table) -> None:
    if node.operator not in ("=", "<>", "<", "<=", ">", ">="):
        raise UnsafePlan(f"the comparison {node.operator!r} is not known.")


def _nothing(node: e.Expression, table: Table) -> None:
    """Total whatever its parts are."""


NUMBERS: dict[type[e.Expression], Callable[[Any, Table], Interval]] = {
    e.Stored: _stored,
    e.Constant: lambda node, table: (node.value, node.value),
    e.Null: lambda node, table: (0, 0),
    e.Add: _add,
    e.Subtract: _subtract,
    e.Multiply: _corners,
    e.Divide: _divide,
    e.Modulo: _modulo,
    e.Negate: _negate,
    e.Absolute: _absolute,
    e.Rescale: _rescale,
    e.Case: _case,
    e.Coalesce: _several,
    e.Least: _several,
    e.Greatest: _several,
    e.Clamp: _clamp,
}
OTHERS: dict[type[e.Expression], Callable[[Any, Table], None]] = {
    e.StoredText: _stored_text,
    e.TextConstant: _nothing,
    e.Truth: _nothing,
    e.Compare: _comparison,
    e.CompareText: _comparison,
    e.Among: _nothing,
    e.TextAmong: _nothing,
    e.Like: _pattern,
    e.IsNull: _nothing,
    e.Is: _nothing,
    e.Not: _nothing,
    e.And: _nothing,
    e.Or: _nothing,
}
