"""What rows are grouped by: the code of each group, and the declaration that decodes it.

A key has a public list of values if declarations and the query alone tell which values it can take: a declared list or
range, the labels of a CASE, the periods between two dates, or all that comes out of the columns' own values, tried one
by one. Any other key is private: only its values that enough people have are shown.
"""

from __future__ import annotations

import datetime
from dataclasses import replace

from sqlglot import exp

from dither.policy.catalog import MOST_CODE, MOST_GROUPS
from dither.policy.columns import Bool, Column, Date, Int, Shown, Text, Timestamp
from dither.policy.columns.key_domains import MICROSECONDS, Computed, Listed, Periods, Unit, Unlisted
from dither.sql.binding.computed_columns import column_of, declared
from dither.sql.binding.public_values import public_code
from dither.sql.expressions import (
    Boolean,
    Case,
    Clamp,
    Coalesce,
    Constant,
    Expression,
    Null,
    Numeric,
    Steps,
    Stored,
    Textual,
    simplifier,
)
from dither.sql.expressions.domains import Domain, domain
from dither.sql.guard.facts.knowledge import stored
from dither.sql.scalars import calendar
from dither.sql.scalars.casts import shown
from dither.sql.scalars.label_maps import MOST_STEPS
from dither.sql.scalars.narrowing import narrowed_key
from dither.sql.scalars.rounding import in_units
from dither.sql.scalars.scalar import Scalars, Value, decoded
from dither.sql.scalars.time_functions import truncation

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def group_key(scalars: Scalars, node: exp.Expr) -> tuple[Numeric | Textual, Column]:
    """The code of a GROUP BY item's group on each row, and the declaration that decodes it.

    If the declaration has a public list of values, every row's code provably lies in low..high, or is NULL where the
    declaration says that it can be.
    """
    node = node.unnest()
    if isinstance(node, exp.Column):
        name, column = scalars.scope.find(node)
        code = stored(name, column)
        if name in scalars.kept and isinstance(code, Stored):
            return narrowed_key(code, column, scalars.kept[name])
        if name in scalars.public_texts:
            return public_code(scalars.scope.place(node)[0].node, name, column) or (code, column)
        return code, column
    period = truncation(scalars, node)
    if period is not None:
        unit, (value, kind) = period
        return _period(unit, value, kind)
    return _computed(scalars, node, scalars.value(node))


def carried(scalars: Scalars, node: exp.Expr) -> tuple[Expression, Column]:
    """An expression as a column of a derived table. One whose values have gaps is carried as the code of its key, so
    that grouping by that column has no group that no row can be in."""
    period = truncation(scalars, node)
    if period is not None:
        unit, (moment, kind) = period
        return _period(unit, moment, kind)
    value = scalars.value(node)
    number = value.node
    plain = value.category is None and isinstance(number, Numeric) and not isinstance(number, (Constant, Null))
    if plain and isinstance(number, Numeric) and -MOST_CODE <= number.low <= number.high <= MOST_CODE:
        code, declaration = _number(number, "number" if value.kind == "number" else shown(value.kind))
        if isinstance(declaration, Listed):
            return code, declaration
    return column_of(scalars, node)


def plain_column(name: str, column: Column) -> tuple[Expression, Column]:
    """A column by its values, whatever it is carried as."""
    return declared(decoded(name, column)) if isinstance(column, Computed) else (stored(name, column), column)


def _computed(scalars: Scalars, at: exp.Expr, value: Value) -> tuple[Numeric | Textual, Column]:
    node = value.node
    if value.kind in ("literal", "null") or isinstance(node, (Constant, Null)):
        hint = "Leave it out: without it there is one group."
        raise scalars.refusal(at, "a group is made of columns, and this is the same on every row.", hint)
    if isinstance(node, Textual):
        return node, _nullable(Text(max_length=max(1, node.longest)), node.nullable, "")
    if isinstance(node, Boolean):
        code = simplifier.indicator(node)
        code, null = _without_needless_null(code, domain(code))
        return _within(code, 0, 1), _nullable(Bool(), null, False)
    if not isinstance(node, Numeric):
        raise TypeError(type(node).__name__)
    if value.category is not None:
        code, null = _without_needless_null(node, domain(node))
        labels = value.category
        return _within(code, labels.low, labels.high), _nullable(labels, null, labels.values[0])
    if not -MOST_CODE <= node.low <= node.high <= MOST_CODE:
        hint = "Group by smaller numbers, or divide them first."
        raise scalars.refusal(at, "this value can grow too large to group by.", hint)
    return _number(node, "number" if value.kind == "number" else shown(value.kind))


def _number(node: Numeric, kind: Shown) -> tuple[Numeric, Column]:
    """A number, day or moment: by its labels, by trying the values of its columns, or privately by its own values."""
    found = domain(node)
    code, null = _without_needless_null(node, found)
    labels = _labels(node)
    if labels is not None:
        places = {label: place for place, label in enumerate(labels)}
        return _within(_placed(code, places), 0, len(labels) - 1), Listed(
            tuple(labels), kind, node.scale, nullable=null
        )
    values = None if found is None else found.values
    # A range may hold more than len() can tell.
    if values is None or values[MOST_GROUPS if isinstance(values, range) else MOST_STEPS :]:
        return node, _unlisted(node, kind, null)
    if not values:  # NULL on every row
        return _within(Steps(node, (), (0,)), 0, 0), Listed((0,), kind, node.scale, nullable=True)
    if isinstance(values, range) and values.step == 1 and kind in ("number", "date") and node.scale == 0:
        return _within(code, values[0], values[-1]), _plain(values, kind, null)
    if isinstance(values, range):
        start = simplifier.subtract(code, Constant(values[0], node.scale))
        code = simplifier.divide(in_units(start), Constant(values.step))
    else:
        code = _placed(code, {value: place for place, value in enumerate(values)})
    return _within(code, 0, len(values) - 1), Listed(values, kind, node.scale, nullable=null)


def _labels(node: Numeric) -> list[int] | None:
    """The numbers that a CASE names as its results, in the order in which they appear."""
    parts = (*node.values, node.otherwise) if isinstance(node, Case) else ()
    if not parts or not all(isinstance(part, (Constant, Null)) for part in parts):
        return None
    found = dict.fromkeys(part.value for part in parts if isinstance(part, Constant))
    return list(found) if 0 < len(found) <= MOST_STEPS else None


def _placed(node: Numeric, places: dict[int, int]) -> Numeric:
    """The place of each value."""
    if isinstance(node, Case) and all(isinstance(part, (Constant, Null)) for part in (*node.values, node.otherwise)):
        values = tuple(_place(part, places) for part in node.values)
        return Case(node.conditions, values, _place(node.otherwise, places))
    ascending = sorted(places)
    return Steps(node, tuple(ascending[1:]), tuple(places[value] for value in ascending))


def _place(node: Numeric, places: dict[int, int]) -> Numeric:
    return Constant(places[node.value]) if isinstance(node, Constant) else Null()


def _without_needless_null(code: Numeric, found: Domain | None) -> tuple[Numeric, bool]:
    """The code, and whether it can be NULL; one that only looks as if it could is told otherwise, at no one's cost."""
    if code.nullable and found is not None and not found.null:
        return Coalesce((code, Constant(code.low, code.scale))), False
    return code, code.nullable


def _within(code: Numeric, low: int, high: int) -> Numeric:
    """The code, clamped into its public range whether or not it could leave it."""
    return Clamp(code, low, high)


def _unlisted(node: Numeric, kind: Shown, null: bool) -> Column:
    if kind == "timestamp":
        ends = [_EPOCH + datetime.timedelta(microseconds=end) for end in node.bounds]
        return _nullable(Timestamp(*ends), null, ends[0])
    return Unlisted(node.low, node.high, kind, node.scale, nullable=null)


def _plain(values: range, kind: Shown, null: bool) -> Column:
    """Neighbouring whole numbers or days."""
    first, last = values[0], values[-1]
    if kind == "date":
        ends = [(_EPOCH + datetime.timedelta(days=day)).date() for day in (first, last)]
        return _nullable(Date(*ends), null, ends[0])
    return _nullable(Int(first, last), null, first)


def _nullable(column: Column, null: bool, default: object) -> Column:
    """The declaration with or without NULL; its default is asked for, and never used."""
    return replace(column, nullable=null, default=None if null else default)


def _period(unit: Unit, value: Numeric, kind: Shown) -> tuple[Numeric, Column]:
    """The periods from that of the earliest to that of the latest moment."""
    if kind == "date" and unit in MICROSECONDS:
        unit = "day"
    code = calendar.period(unit, value, kind)
    first, last = (calendar.period(unit, Constant(end), kind).low for end in value.bounds)
    return _within(code, first, last), Periods(unit, first, last, kind, nullable=code.nullable)
