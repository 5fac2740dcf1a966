"""Expressions over arrays of whole numbers, in Python: which values a group key can take is found by trying them all.

Texts are not evaluated: what depends on one has no public list of values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.sql.expressions import choices, codes, lets, numbers, predicates, times
from dither.sql.expressions.base import Boolean, Expression, Numeric

_WORD = 2**62
_EPOCH = np.datetime64("1970-01-01", "D")


class NotEvaluated(Exception):
    """The expression has a part, such as a text, that is not evaluated here."""


@dataclass(frozen=True)
class Values:
    """Numbers (or 0 and 1 for truths) and where they are NULL; what lies under a NULL means nothing."""

    of: NDArray[Any]
    null: NDArray[np.bool_]


Columns = Mapping[str, Values]


def evaluate(node: Numeric, columns: Columns) -> Values:
    """The value of the expression for every row of the given columns, exactly."""
    reach = max(inner.reach for inner in node.walk() if isinstance(inner, Numeric))
    return _number(node, columns, np.dtype(np.int64) if reach < _WORD else np.dtype(object))


def _number(node: Expression, columns: Columns, dtype: np.dtype[Any]) -> Values:
    rule = _NUMBERS.get(type(node))
    if rule is None:
        raise NotEvaluated(type(node).__name__)
    return rule(node, columns, dtype)


def _truth(node: Boolean, columns: Columns, dtype: np.dtype[Any]) -> Values:
    rule = _TRUTHS.get(type(node))
    if rule is None:
        raise NotEvaluated(type(node).__name__)
    return rule(node, columns, dtype)


def _constant(value: int, columns: Columns, dtype: np.dtype[Any], *, null: bool = False) -> Values:
    size = len(next(iter(columns.values())).null) if columns else 1
    return Values(np.full(size, value, dtype), np.full(size, null))


def _stored(node: numbers.Stored, columns: Columns, dtype: np.dtype[Any]) -> Values:
    column = columns[node.name]
    return Values(column.of.astype(dtype), column.null)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Columns, np.dtype[Any]], Values]:
    def rule(node: numbers.Binary, columns: Columns, dtype: np.dtype[Any]) -> Values:
        left, right = _number(node.left, columns, dtype), _number(node.right, columns, dtype)
        return Values(function(left.of, right.of), left.null | right.null)

    return rule


def _quotient(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    size: NDArray[Any] = abs(left) // abs(right)
    return np.where((left < 0) == (right < 0), size, -size)


def _divided(*, rest: bool) -> Callable[[Any, Columns, np.dtype[Any]], Values]:
    def rule(node: numbers.Binary, columns: Columns, dtype: np.dtype[Any]) -> Values:
        left, right = _number(node.left, columns, dtype), _number(node.right, columns, dtype)
        zero = right.of == 0
        divisor = np.where(zero, np.ones(1, dtype), right.of)
        quotient = _quotient(left.of, divisor)
        null = left.null | right.null | zero.astype(bool)
        return Values(left.of - divisor * quotient if rest else quotient, null)

    return rule


def _unary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Columns, np.dtype[Any]], Values]:
    def rule(node: Any, columns: Columns, dtype: np.dtype[Any]) -> Values:
        value = _number(node.value, columns, dtype)
        return Values(function(node, value.of), value.null)

    return rule


def _case(node: choices.Case, columns: Columns, dtype: np.dtype[Any]) -> Values:
    found = _number(node.otherwise, columns, dtype)
    for condition, value in reversed(list(zip(node.conditions, node.values, strict=True))):
        holds, then = _truth(condition, columns, dtype), _number(value, columns, dtype)
        true = (holds.of != 0).astype(bool) & ~holds.null
        found = Values(np.where(true, then.of, found.of), np.where(true, then.null, found.null))
    return found


def _several(better: Callable[[Any, Any], Any]) -> Callable[[Any, Columns, np.dtype[Any]], Values]:
    def rule(node: choices.Several, columns: Columns, dtype: np.dtype[Any]) -> Values:
        found, *others = (_number(value, columns, dtype) for value in node.values)
        for other in others:
            take = ~other.null & (found.null | better(other.of, found.of).astype(bool))
            found = Values(np.where(take, other.of, found.of), found.null & other.null)
        return found

    return rule


def _let(node: lets.Let, columns: Columns, dtype: np.dtype[Any]) -> Values:
    return _number(node.body, {**columns, node.local.column.name: _number(node.value, columns, dtype)}, dtype)


def _indicator(node: codes.Indicator, columns: Columns, dtype: np.dtype[Any]) -> Values:
    truth = _truth(node.operand, columns, dtype)
    return Values(truth.of.astype(dtype), truth.null)


def _steps(node: codes.Steps, value: NDArray[Any]) -> NDArray[Any]:
    starts = np.array(node.starts, value.dtype)
    results: NDArray[Any] = np.array(node.results, value.dtype)
    return results[np.searchsorted(starts, value, side="right")]


def _dates(days: NDArray[Any]) -> NDArray[Any]:
    inside = np.clip(days, times.FIRST_DAY, times.LAST_DAY).astype(np.int64)  # under a NULL there may be anything
    dates: NDArray[Any] = _EPOCH + inside.astype("timedelta64[D]")
    return dates


def _whole(found: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    return found.astype(np.int64).astype(like.dtype)


def _date_part(node: times.DatePart, days: NDArray[Any]) -> NDArray[Any]:
    dates = _dates(days)
    if node.part == "year":
        return _whole(dates.astype("datetime64[Y]").astype(np.int64) + 1970, days)
    if node.part == "month":
        return _whole(dates.astype("datetime64[M]").astype(np.int64) % 12 + 1, days)
    if node.part in ("day", "doy"):
        start = dates.astype("datetime64[M]" if node.part == "day" else "datetime64[Y]").astype("datetime64[D]")
        return _whole((dates - start).astype(np.int64) + 1, days)
    # by ISO 8601 a week belongs to the year of its Thursday
    count = (dates - _EPOCH).astype(np.int64)
    thursday = _EPOCH + (count - (count + 3) % 7 + 3).astype("timedelta64[D]")
    year = thursday.astype("datetime64[Y]")
    if node.part == "isoyear":
        return _whole(year.astype(np.int64) + 1970, days)
    return _whole((thursday - year.astype("datetime64[D]")).astype(np.int64) // 7 + 1, days)


def _first_day(node: times.FirstDay, days: NDArray[Any]) -> NDArray[Any]:
    months = _dates(days).astype("datetime64[M]").astype(np.int64)
    span = {"year": 12, "quarter": 3, "month": 1}[node.period]
    first = (months - months % span).astype("datetime64[M]").astype("datetime64[D]")
    return _whole(first.astype(np.int64), days)


def _add_months(node: times.AddMonths, days: NDArray[Any]) -> NDArray[Any]:
    dates = _dates(days)
    month = dates.astype("datetime64[M]")
    target = month + np.timedelta64(node.months, "M")
    last = (target + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
    wanted = target.astype("datetime64[D]") + (dates - month.astype("datetime64[D]"))
    return _whole(np.minimum(wanted, last).astype(np.int64), days)


def _month_start(node: times.MonthStart, months: NDArray[Any]) -> NDArray[Any]:
    first = months.astype(np.int64).astype("datetime64[M]").astype("datetime64[D]")
    return _whole(first.astype(np.int64), months)


_NUMBERS: dict[type[Expression], Callable[[Any, Columns, np.dtype[Any]], Values]] = {
    numbers.Stored: _stored,
    numbers.Constant: lambda node, columns, dtype: _constant(node.value, columns, dtype),
    numbers.Null: lambda node, columns, dtype: _constant(0, columns, dtype, null=True),
    numbers.Add: _binary(lambda left, right: left + right),
    numbers.Subtract: _binary(lambda left, right: left - right),
    numbers.Multiply: _binary(lambda left, right: left * right),
    numbers.Divide: _divided(rest=False),
    numbers.Modulo: _divided(rest=True),
    numbers.Negate: _unary(lambda node, value: -value),
    numbers.Absolute: _unary(lambda node, value: abs(value)),
    numbers.Rescale: _unary(lambda node, value: value * node.factor),
    numbers.Clamp: _unary(lambda node, value: np.clip(value, node.least, node.most)),
    choices.Case: _case,
    choices.Coalesce: _several(lambda other, found: np.zeros(1, bool)),
    choices.Least: _several(lambda other, found: other < found),
    choices.Greatest: _several(lambda other, found: other > found),
    lets.Let: _let,
    lets.Local: lambda node, columns, dtype: columns[node.column.name],
    codes.Indicator: _indicator,
    codes.Steps: _unary(_steps),
    codes.Shifted: _unary(lambda node, value: value + _steps(node, value)),
    times.DatePart: _unary(_date_part),
    times.FirstDay: _unary(_first_day),
    times.AddMonths: _unary(_add_months),
    times.MonthStart: _unary(_month_start),
}


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(node: predicates.Compare, columns: Columns, dtype: np.dtype[Any]) -> Values:
    left, right = _number(node.left, columns, dtype), _number(node.right, columns, dtype)
    return Values(_COMPARE[node.operator](left.of, right.of).astype(bool), left.null | right.null)


def _among(node: predicates.Among, columns: Columns, dtype: np.dtype[Any]) -> Values:
    value = _number(node.value, columns, dtype)
    inside = np.zeros(len(value.null), bool)
    for first, last in node.runs:
        inside |= ((value.of >= first) & (value.of <= last)).astype(bool)
    return Values(inside, value.null)


def _is_null(node: predicates.IsNull, columns: Columns, dtype: np.dtype[Any]) -> Values:
    inner = node.value
    value = _truth(inner, columns, dtype) if isinstance(inner, Boolean) else _number(inner, columns, dtype)
    return Values(value.null, np.zeros(len(value.null), bool))


def _is(node: predicates.Is, columns: Columns, dtype: np.dtype[Any]) -> Values:
    operand = _truth(node.operand, columns, dtype)
    return Values((operand.of == node.truth) & ~operand.null, np.zeros(len(operand.null), bool))


def _not(node: predicates.Not, columns: Columns, dtype: np.dtype[Any]) -> Values:
    operand = _truth(node.operand, columns, dtype)
    return Values(~operand.of.astype(bool), operand.null)


def _chain(decisive: bool) -> Callable[[Any, Columns, np.dtype[Any]], Values]:
    def rule(node: predicates.And | predicates.Or, columns: Columns, dtype: np.dtype[Any]) -> Values:
        operands = [_truth(operand, columns, dtype) for operand in node.operands]
        decided = np.any([(operand.of == decisive) & ~operand.null for operand in operands], axis=0)
        null = ~decided & np.any([operand.null for operand in operands], axis=0)
        return Values(decided if decisive else ~decided, null)

    return rule


_TRUTHS: dict[type[Expression], Callable[[Any, Columns, np.dtype[Any]], Values]] = {
    predicates.Truth: lambda node, columns, dtype: _constant(
        node.value is True, columns, np.dtype(bool), null=node.value is None
    ),
    predicates.Compare: _compare,
    predicates.Among: _among,
    predicates.IsNull: _is_null,
    predicates.Is: _is,
    predicates.Not: _not,
    predicates.And: _chain(False),
    predicates.Or: _chain(True),
}
