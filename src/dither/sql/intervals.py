"""The range of every expression, derived anew from the declared columns for the guard.

It shares no code with the bounds that expressions carry: those plan, these judge. A node not listed here is refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from dither.errors import PolicyError
from dither.sql import expressions as e
from dither.sql import patterns

Interval = tuple[int, int]
Schema = Mapping[str, e.Stored | e.StoredText]  # what a relation's columns are, by their names in the whole query
LARGEST = 2**126
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH, datetime.date.max.toordinal() - _EPOCH
_LONGEST = 2**32  # characters of a text


class UnsafePlan(PolicyError):
    """A plan whose sensitivity cannot be proven. It is never run; if it appears, dither has a fault."""


def interval(node: e.Expression, schema: Schema) -> Interval:
    """Where a number must lie on every row of the table, all its parts being provably small enough to compute."""
    rule = NUMBERS.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the expression {type(node).__name__} is not known to be safe.")
    low, high = rule(node, schema)
    if not (-LARGEST < low <= high < LARGEST):
        raise UnsafePlan(f"the expression {type(node).__name__} may exceed 126 bits.")
    return low, high


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
    (a, b), (c, _) = interval(node.left, schema), interval(node.right, schema)
    if isinstance(node.right, e.Constant) and c > 0:
        return _toward_zero(a, c), _toward_zero(b, c)  # cutting keeps the order
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
    return 0, max(-a, b)


def _rescale(node: e.Rescale, schema: Schema) -> Interval:
    a, b = interval(node.value, schema)
    if node.decimals < node.value.scale:
        raise UnsafePlan("a rescaling would lose digits.")
    return a * node.factor, b * node.factor


def _union(values: tuple[e.Numeric, ...], schema: Schema) -> Interval:
    ends = [interval(value, schema) for value in values]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _case(node: e.Case, schema: Schema) -> Interval:
    if len(node.conditions) != len(node.values) or not node.values:
        raise UnsafePlan("a CASE needs one value for each condition.")
    for condition in node.conditions:
        verify(condition, schema)
    return _union((*node.values, node.otherwise), schema)


def _several(node: e.Several, schema: Schema) -> Interval:
    return _union(node.values, schema)


def _clamp(node: e.Clamp, schema: Schema) -> Interval:
    interval(node.value, schema)
    if not node.least <= node.most:
        raise UnsafePlan("a clamp needs least <= most.")
    return node.least, node.most


def _indicator(node: e.Indicator, schema: Schema) -> Interval:
    verify(node.operand, schema)
    return 0, 1


def _steps(node: e.Steps, schema: Schema) -> Interval:
    interval(node.value, schema)
    if len(node.results) != len(node.starts) + 1 or any(a >= b for a, b in pairwise(node.starts)):
        raise UnsafePlan("a step function needs ascending starts and one result more.")
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


def _calendar(node: e.DatePart | e.FirstDay | e.AddMonths, schema: Schema) -> tuple[datetime.date, datetime.date]:
    """The first and the last day that a value can be, all of them in the years that engines know."""
    low, high = interval(node.value, schema)
    if not (low >= _FIRST_DAY and high <= _LAST_DAY):
        raise UnsafePlan(f"{type(node).__name__} may leave the years 1 to 9999.")
    return tuple(datetime.date.fromordinal(_EPOCH + day) for day in (low, high))  # type: ignore[return-value]


def _date_part(node: e.DatePart, schema: Schema) -> Interval:
    first, last = _calendar(node, schema)
    if node.part == "year":
        return first.year, last.year
    if node.part == "isoyear":
        return first.isocalendar().year, last.isocalendar().year
    ranges = {"month": (1, 12), "day": (1, 31), "doy": (1, 366), "week": (1, 53)}
    if node.part not in ranges:
        raise UnsafePlan(f"the part {node.part!r} of a day is not known.")
    return ranges[node.part]


def _first_day(node: e.FirstDay, schema: Schema) -> Interval:
    first, last = _calendar(node, schema)
    if node.period not in ("year", "quarter", "month"):
        raise UnsafePlan(f"the period {node.period!r} is not known.")
    return first.toordinal() - _EPOCH - 365, last.toordinal() - _EPOCH


def _add_months(node: e.AddMonths, schema: Schema) -> Interval:
    ends = []
    for day in _calendar(node, schema):
        months = day.year * 12 + day.month - 1 + node.months
        if not 12 <= months < 120_000:
            raise UnsafePlan("a date may leave the years 1 to 9999.")
        ends.append(datetime.date(months // 12, months % 12 + 1, 1).toordinal() - _EPOCH)
    return ends[0], ends[1] + 30


def _month_start(node: e.MonthStart, schema: Schema) -> Interval:
    low, high = (1970 * 12 + month for month in interval(node.value, schema))
    if not 12 <= low <= high < 120_000:
        raise UnsafePlan("a month may leave the years 1 to 9999.")
    first, last = (datetime.date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH for month in (low, high))
    return first, last


def _length(node: e.Length, schema: Schema) -> Interval:
    verify(node.value, schema)
    return 0, _longest(node.value)


def _longest(node: e.Expression) -> int:
    """How many characters a text can have, whatever it is made of."""
    if isinstance(node, e.StoredText):
        return 65_536
    if isinstance(node, e.TextConstant):
        return len(node.value)
    return sum(_longest(child) for child in node.children() if isinstance(child, e.Textual))


def _text(node: e.Textual, schema: Schema) -> None:
    if not _longest(node) < _LONGEST:
        raise UnsafePlan("a text may become too long.")


def _substring(node: e.Substring, schema: Schema) -> None:
    if not (node.start >= 1 and node.length >= 0):
        raise UnsafePlan("a substring starts at 1 or later and is not shorter than nothing.")


def _text_case(node: e.TextCase, schema: Schema) -> None:
    if len(node.conditions) != len(node.values) or not node.values:
        raise UnsafePlan("a CASE needs one value for each condition.")
    _text(node, schema)


def _stored_text(node: e.StoredText, schema: Schema) -> None:
    if schema.get(node.name) != node:
        raise UnsafePlan(f"the plan misstates the text column {node.name!r}, or there is none.")


def _pattern(node: e.Like | e.ILike, schema: Schema) -> None:
    try:
        patterns.normal_pattern(node.pattern)
    except patterns.BadPattern as error:
        raise UnsafePlan(str(error)) from None


def _comparison(node: e.Compare | e.CompareText, schema: Schema) -> None:
    if node.operator not in ("=", "<>", "<", "<=", ">", ">="):
        raise UnsafePlan(f"the comparison {node.operator!r} is not known.")


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
    e.Least: _several,
    e.Greatest: _several,
    e.Clamp: _clamp,
    e.Indicator: _indicator,
    e.Steps: _steps,
    e.Shifted: _shifted,
    e.DatePart: _date_part,
    e.FirstDay: _first_day,
    e.AddMonths: _add_months,
    e.MonthStart: _month_start,
    e.Length: _length,
}
OTHERS: dict[type[e.Expression], Callable[[Any, Schema], None]] = {
    e.StoredText: _stored_text,
    e.TextConstant: _nothing,
    e.TextNull: _nothing,
    e.TextCase: _text_case,
    e.TextCoalesce: _text,
    e.Joined: _text,
    e.Substring: _substring,
    e.Trim: _nothing,
    e.Truth: _nothing,
    e.Compare: _comparison,
    e.CompareText: _comparison,
    e.Among: _nothing,
    e.TextAmong: _nothing,
    e.Like: _pattern,
    e.ILike: _pattern,
    e.IsNull: _nothing,
    e.Is: _nothing,
    e.Not: _nothing,
    e.And: _nothing,
    e.Or: _nothing,
}
