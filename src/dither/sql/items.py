"""Aggregate calls: from one piece of syntax to the aggregate it asks for."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql import normal
from dither.sql.aggregates import Aggregator, Average, Count, CountDistinctOwner, Sum
from dither.sql.expressions import Boolean, Null, Numeric
from dither.sql.literals import LARGEST
from dither.sql.scalar import Scalars
from dither.sql.statement import MOST_ROWS


def aggregate(scalars: Scalars, node: exp.Expr) -> tuple[Aggregator, str]:
    """The aggregate that a call asks for, and the name it is shown by without an alias."""
    condition = None
    if isinstance(node, exp.Filter):
        condition, node = scalars.truth(node.expression.this), node.this
    rule = RULES.get(type(node))
    if rule is not None:
        return rule(scalars, node, condition)
    if isinstance(node, exp.Star):
        raise scalars.refusal(node, "rows are never shown.", "Select COUNT(*), SUM(x) or AVG(x), by group if you like.")
    owner = scalars.scope.owner_name
    hint = f"Select grouped columns and COUNT(*), COUNT(x), COUNT(DISTINCT {owner}), SUM(x) or AVG(x)."
    raise scalars.refusal(node, "a select item is a grouped column or an aggregate.", hint)


def summed(scalars: Scalars, node: exp.Expr, condition: Boolean | None, square: int = 1) -> Numeric:
    """The argument of an aggregate that adds it up, NULL where FILTER leaves it out; its sum must fit."""
    if isinstance(node.this, exp.Distinct):
        what = f"DISTINCT is supported in COUNT(DISTINCT {scalars.scope.owner_name}) and COUNT(DISTINCT x) only."
        raise scalars.refusal(node, what, "Leave DISTINCT out.")
    value = scalars.number(node.this)
    if condition is not None:
        value = normal.choose((condition,), (value,), Null())
    if not 2 * MOST_ROWS * value.reach**square < LARGEST:
        hint = "Its declared bounds allow more than 126 bits; use smaller factors or narrower columns."
        raise scalars.refusal(node, "this sum can grow too large.", hint)
    return value


def named(function: str, argument: exp.Expr) -> str:
    inner = argument.unnest()
    return f"{function}_{inner.name}" if isinstance(inner, exp.Column) else function


def _count(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    inner = node.this
    if isinstance(inner, exp.Star):
        return Count(condition), "count"
    if isinstance(inner, exp.Distinct):
        return _distinct(scalars, inner, condition)
    counted = scalars.value(inner)
    if counted.kind == "null":
        raise scalars.refusal(node, "COUNT(NULL) counts nothing.", "Write COUNT(*).")
    present = normal.negation(normal.is_null(counted.node)) if counted.node.nullable else None
    parts = [part for part in (present, condition) if part is not None]
    return Count(normal.conjunction(parts) if parts else None), named("count", inner)


def _distinct(scalars: Scalars, distinct: exp.Distinct, condition: Boolean | None) -> tuple[Aggregator, str]:
    counted = distinct.expressions[0].unnest() if len(distinct.expressions) == 1 else None
    if isinstance(counted, exp.Column) and scalars.scope.is_owner(counted) and condition is None:
        return CountDistinctOwner(), "count"
    hint = f"Write COUNT(DISTINCT {scalars.scope.owner_name}), or GROUP BY the column."
    raise scalars.refusal(distinct, "only owners can be counted DISTINCT.", hint)


def _sum(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    return Sum(summed(scalars, node, condition)), named("sum", node.this)


def _average(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    return Average(summed(scalars, node, condition)), named("avg", node.this)


Rule = Callable[[Scalars, exp.Expr, Boolean | None], tuple[Aggregator, str]]
RULES: dict[type[exp.Expr], Rule] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
}
