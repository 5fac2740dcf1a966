"""The range of every expression, derived anew from the declared columns for the guard.

It shares no code with the bounds that expressions carry: those plan, these judge. A node not listed here is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from dither.sql import expressions as e
from dither.sql.guard import days
from dither.sql.guard.lengths import LENGTHS, longest
from dither.sql.guard.refusals import Schema, UnsafePlan
from dither.sql.text import patterns

__all__ = ["LARGEST", "Interval", "Schema", "UnsafePlan", "interval", "longest", "no_op", "verify"]

Interval = tuple[int, int]
LARGEST = 2**126


def interval(node: e.Expression, schema: Schema) -> Interval:
    """Where a number must lie on every row of the table, all its parts being provably small enough to compute.

    Types are chosen by the reach that an expression states, so a reach below what is proven here is refused.
    """
    rule = NUMBERS.get(type(node))
    if rule is None or not isinstance(node, e.Numeric):
        raise UnsafePlan(f"the expression {type(node).__name__} is not known to be safe.")
    low, high = rule(node, schema)
    if not (-LARGEST < low <= high < LARGEST):
        raise UnsafePlan(f"the expression {type(node).__name__} may exceed 126 bits.")
    if not max(-low, high) <= node.reach < LARGEST:
        raise UnsafePlan(f"the expression {type(node).__name__} may exceed the type it is computed in.")
    return low, high


def no_op(clamp: e.Clamp, schema: Schema) -> bool:
    """Whether a clamp provably does nothing on any row of a relation with these columns; if in doubt it does not."""
    try:
        low, high = interval(clamp.value, schema)
    except UnsafePlan:
        return False
    return clamp.least <= low and high <= clamp.most


def verify(node: e.Expression, schema: Schema) -> None:
    """That a condition consists of known, total parts over declared columns."""
    if type(node) in NUMBERS:
        interval(node, schema)
    elif type(node) in OTHERS:
        OTHERS[type(node)](node, schema)
        for child in node.children():
            verify(child, schema)
    else:
        raise UnsafePlan(f"the expression {type(node).__name__} is not known to be safe.")


def _stored(node: e.Stored, schema: Schema) -> Interval:
    if schema.get(node.name) != node:
        raise UnsafePlan(f"the plan misstates the column {node.name!r}, or there is none with bounds.")
    return node.least, node.most


def _corners(node: e.Binary, schema: Schema) -> Interval:
    (a, b), (c, d) = interval(node.left, schema), interval(node.right, schema)
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _add(node: e.Add, schema: Schema) -> Interval:
    (a, b), (c, d) = interval(node.left, schema), interval(node.right, schema)
    return a + c, b + d


def _subtract(node: e.Subtract, schema: Schema) -> Interval:
    (a, b), (c, d) = interval(node.left, schema), interval(node.right, schema)
    return a - d, b - c


def _divide(node: e.Divide, schema: Schema) -> Interval:
    (a, b), (c, d) = interval(node.left, schema), interval(node.right, schema)
    if c > 0:  # cutting keeps the order, and a larger divisor brings a quotient nearer to 0
        return _toward_zero(a, c if a < 0 else d), _toward_zero(b, d if b < 0 else c)
    size = max(-a, b, 0)  # dividing by a whole number other than 0 never makes a number larger
    return -size, size


def _toward_zero(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)


def _modulo(node: e.Modulo, schema: Schema) -> Interval:
    (a, b), (c, d) = interval(node.left, schema), interval(node.right, schema)
    rest = max(-c, d, 1) - 1
    return -min(rest, max(-a, 0)), min(rest, max(b, 0))


def _negate(node: e.Negate, schema: Schema) -> Interval:
    a, b = interval(node.value, schema)
    return -b, -a


def _absolute(node: e.Absolute, schema: Schema) -> Interval:
    a, b = interval(node.value, schema)
    return max(0, a, -b), max(-a, b)


def _rescale(node: e.Rescale, schema: Schema) -> Interval:
    a, b = interval(node.value, schema)
    if node.decimals < node.value.scale:
        raise UnsafePlan("a rescaling would lose digits.")
    return a * node.factor, b * node.factor


def _union(values: tuple[e.Numeric, ...], schema: Schema) -> Interval:
    """All that one of the values can be; one that is always NULL is no number."""
    ends = [interval(value, schema) for value in values if type(value) is not e.Null]
    return min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)


def _case(node: e.Case, schema: Schema) -> Interval:
    if len(node.conditions) != len(node.values) or not node.values:
        raise UnsafePlan("a CASE needs one value for each condition.")
    for condition in node.conditions:
        verify(condition, schema)
    return _union((*node.values, node.otherwise), schema)


def _several(node: e.Several, schema: Schema) -> Interval:
    return _union(node.values, schema)


def _least(node: e.Least, schema: Schema) -> Interval:
    low, high = _union(node.values, schema)
    for value in node.values:  # one that is no column can be NULL by no row
        high = min(high, value.value) if type(value) is e.Constant else high
    return low, high


def _greatest(node: e.Greatest, schema: Schema) -> Interval:
    low, high = _union(node.values, schema)
    for value in node.values:
        low = max(low, value.value) if type(value) is e.Constant else low
    return low, high


def _clamp(node: e.Clamp, schema: Schema) -> Interval:
    interval(node.value, schema)
    if not node.least <= node.most:
        raise UnsafePlan("a clamp needs least <= most.")
    return node.least, node.most


def _let(node: e.Let, schema: Schema) -> Interval:
    """What the local number is stated to be, holds for the value; the body is judged by the statement."""
    low, high = interval(node.value, schema)
    stated = node.local
    if not stated.least <= low <= high <= stated.most or (node.value.nullable and not stated.may_be_null):
        raise UnsafePlan(f"the plan misstates the local number {stated.name!r}.")
    return interval(node.body, {**schema, stated.column.name: stated.column})


def _local(node: e.Local, schema: Schema) -> Interval:
    if schema.get(node.column.name) != node.column:
        raise UnsafePlan(f"there is no local number {node.name!r} as stated.")
    return node.least, node.most


def _indicator(node: e.Indicator, schema: Schema) -> Interval:
    verify(node.operand, schema)
    return 0, 1


def _steps(node: e.Steps, schema: Schema) -> Interval:
    interval(node.value, schema)
    if len(node.results) != len(node.starts) + 1 or any(a >= b for a, b in pairwise(node.starts)):
        raise UnsafePlan("a step function needs ascending starts and one result more.")
    _literals(node.starts)
    return min(node.results), max(node.results)


def _shifted(node: e.Shifted, schema: Schema) -> Interval:
    _steps(node, schema)
    low, high = interval(node.value, schema)
    starts = (low, *node.starts, high + 1)
    ends = [
        (max(low, first) + by, min(high, after - 1) + by)
        for first, after, by in zip(starts, starts[1:], node.results, strict=False)
        if max(low, first) <= min(high, after - 1)
    ]
    return min(first for first, _ in ends), max(last for _, last in ends)


def _length(node: e.Length, schema: Schema) -> Interval:
    verify(node.value, schema)
    return 0, longest(node.value, schema)


def _position(node: e.Position, schema: Schema) -> Interval:
    verify(node.value, schema)
    if not node.sought:
        raise UnsafePlan("nothing is sought in a text.")
    return 0, longest(node.value, schema)


def _of_day(rule: Callable[[Any, Interval], Interval]) -> Callable[[Any, Schema], Interval]:
    return lambda node, schema: rule(node, interval(node.value, schema))


def _pattern(node: e.Like | e.ILike, schema: Schema) -> None:
    try:
        patterns.normal_pattern(node.pattern)
    except patterns.BadPattern as error:
        raise UnsafePlan(str(error)) from None


def _comparison(node: e.Compare | e.CompareText, schema: Schema) -> None:
    if node.operator not in ("=", "<>", "<", "<=", ">", ">="):
        raise UnsafePlan(f"the comparison {node.operator!r} is not known.")


def _among(node: e.Among, schema: Schema) -> None:
    for run in node.runs:
        _literals(run)


def _literals(numbers: tuple[int, ...]) -> None:
    """Numbers that stand in the statement as they are: an engine would read larger ones as floats."""
    if not all(-LARGEST < number < LARGEST for number in numbers):
        raise UnsafePlan("a number may exceed 126 bits.")


def _nothing(node: e.Expression, schema: Schema) -> None:
    """Total whatever its parts are."""


NUMBERS: dict[type[e.Expression], Callable[[Any, Schema], Interval]] = {
    e.Stored: _stored,
    e.Constant: lambda node, schema: (node.value, node.value),
    e.Null: lambda node, schema: (0, 0),
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
    e.Least: _least,
    e.Greatest: _greatest,
    e.Clamp: _clamp,
    e.Let: _let,
    e.Local: _local,
    e.Indicator: _indicator,
    e.Steps: _steps,
    e.Shifted: _shifted,
    e.DatePart: _of_day(days.date_part),
    e.FirstDay: _of_day(days.first_day),
    e.AddMonths: _of_day(days.add_months),
    e.MonthStart: _of_day(days.month_start),
    e.Length: _length,
    e.Position: _position,
}
OTHERS: dict[type[e.Expression], Callable[[Any, Schema], int | None]] = {
    **dict.fromkeys(LENGTHS, longest),
    e.Truth: _nothing,
    e.Compare: _comparison,
    e.CompareText: _comparison,
    e.Among: _among,
    e.TextAmong: _nothing,
    e.Like: _pattern,
    e.ILike: _pattern,
    e.IsNull: _nothing,
    e.Is: _nothing,
    e.Not: _nothing,
    e.And: _nothing,
    e.Or: _nothing,
}
