"""Computed values as columns of a derived table: the expression that is carried along, and a declaration for it."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from dither.errors import DitherError
from dither.policy.columns import Bool, Coded, Column, Date, Fixed, Int, Text, Timestamp
from dither.sql.expressions import Boolean, Case, Constant, Expression, Null, Numeric, Textual, simplifier
from dither.sql.plan.aggregates import bounded
from dither.sql.scalars.scalar import Scalars, Value

_DAY = datetime.date(1970, 1, 1)
_INSTANT = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def column_of(scalars: Scalars, at: exp.Expr) -> tuple[Expression, Column]:
    """A piece of scalar syntax as a column: what it is computed as, clamped last, and what may come out."""
    try:
        return declared(scalars.value(at))
    except (DitherError, OverflowError, ValueError) as error:
        if getattr(error, "line", None) is not None:
            raise
        hint = "Narrow it with LEAST and GREATEST, or declare narrower columns."
        raise scalars.refusal(at, "this value can grow too large for a derived column.", hint) from None


def declared(value: Value) -> tuple[Expression, Column]:
    """A bound value as a column."""
    node = value.node
    if isinstance(node, Boolean):
        return declared(Value("boolean", as_number(node)))
    if isinstance(node, Textual):
        return node, nullable(Text(max_length=max(1, node.longest)), node.nullable, "")
    if not isinstance(node, Numeric):
        raise TypeError(f"no column for {type(node).__name__}")
    if isinstance(node, Null):
        return node, Int(0, 0)
    if value.category is not None:
        return bounded(node), nullable(value.category, node.nullable, value.category.values[0])
    low, high = node.bounds
    if value.kind == "boolean":
        return bounded(node), nullable(Bool(), node.nullable, False)
    if value.kind == "date":
        lower, upper = (_DAY + datetime.timedelta(days=end) for end in (low, high))
        return bounded(node), nullable(Date(lower, upper), node.nullable, lower)
    if value.kind in ("timestamp", "local"):
        least, most = (_INSTANT + datetime.timedelta(microseconds=end) for end in (low, high))
        return bounded(node), nullable(Timestamp(least, most), node.nullable, least)
    return bounded(node), number(low, high, node.scale, node.nullable)


def number(low: int, high: int, decimals: int, may_be_null: bool) -> Coded:
    """The declaration of numbers low..high in units of 10**-decimals."""
    if not decimals:
        return Int(low, high) if may_be_null else Int(low, high, nullable=False, default=low)
    unit = Fraction(1, 10**decimals)
    if may_be_null:
        return Fixed(low * unit, high * unit, decimals=decimals)
    return Fixed(low * unit, high * unit, decimals=decimals, nullable=False, default=low * unit)


def nullable(column: Column, may_be_null: bool, default: object) -> Column:
    """The declaration with or without NULL; a default is asked for, and never used, where there is none."""
    if column.nullable == may_be_null:
        return column
    return replace(column, nullable=may_be_null, default=None if may_be_null else default)


def as_number(truth: Boolean) -> Numeric:
    """1 where true, 0 where false, NULL where neither."""
    if not truth.nullable:
        return Case((truth,), (Constant(1),), Constant(0))
    return Case((truth, simplifier.negation(truth)), (Constant(1), Constant(0)), Null())
