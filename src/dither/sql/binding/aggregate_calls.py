"""Aggregate calls: from one piece of syntax to the aggregate it asks for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from dither.policy.columns import Bool, Category, Column
from dither.sql.binding.computed_columns import column_of, nullable
from dither.sql.expressions import Boolean, Constant, Null, Numeric, Textual, simplifier
from dither.sql.plan.aggregates import (
    Aggregator,
    Average,
    ChosenMode,
    ChosenQuantile,
    Count,
    CountDistinctOwner,
    CountDistinctValues,
    Sum,
    SumOfOwners,
    Variance,
    bounded,
)
from dither.sql.plan.aggregates.chosen_value import GREATEST, LEAST
from dither.sql.scalars.literals import LARGEST
from dither.sql.scalars.scalar import Scalars, Value
from dither.sql.text import grammar

MOST_CANDIDATES = 100_000  # that MODE chooses among


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
    name = scalars.scope.source.written(node).upper()
    if name in grammar.FORMS:
        raise scalars.refusal(node, f"{name} stands here without WITHIN GROUP.", grammar.FORMS[name])
    owner = scalars.scope.owner_name
    hint = f"Select grouped columns and COUNT(*), COUNT(x), COUNT(DISTINCT {owner}), SUM(x) or AVG(x)."
    raise scalars.refusal(node, "a select item is a grouped column or an aggregate.", hint)


def is_aggregated(node: exp.Expr) -> bool:
    """Whether an aggregate is called anywhere in a piece of syntax."""
    return node.find(exp.AggFunc, exp.Anonymous, exp.WithinGroup) is not None


def summed(scalars: Scalars, node: exp.Expr, condition: Boolean | None, square: int = 1) -> Numeric:
    """The argument of an aggregate that adds it up, NULL where FILTER leaves it out; its sum must fit."""
    if isinstance(node.this, exp.Distinct):
        what = f"DISTINCT is supported in COUNT(DISTINCT {scalars.scope.owner_name}) and COUNT(DISTINCT x) only."
        raise scalars.refusal(node, what, "Leave DISTINCT out.")
    value = scalars.number(node.this)
    if condition is not None:
        value = simplifier.choose((condition,), (value,), Null())
    _check_sum(scalars, node, value.reach**square)
    return value


def _check_sum(scalars: Scalars, node: exp.Expr, reach: int) -> None:
    """Refuse a sum of numbers as large as that if the engine could not hold it."""
    if not 2 * scalars.rows * reach < LARGEST:
        hint = "Its declared bounds allow more than 126 bits; use smaller factors or narrower columns."
        raise scalars.refusal(node, "this sum can grow too large.", hint)


def named(function: str, argument: exp.Expr) -> str:
    inner = argument.unnest()
    return f"{function}_{inner.name}" if isinstance(inner, exp.Column) else function


def _count(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    inner = node.this
    if inner is None:
        raise scalars.refusal(node, "COUNT names nothing to count.", "Write COUNT(*).")
    if isinstance(inner, exp.Star):
        return Count(condition), "count"
    if isinstance(inner, exp.Distinct):
        return _distinct(scalars, inner, condition)
    if not isinstance(inner, exp.Column) or not scalars.scope.declared_as(inner.name):
        owners, met = owner_where(scalars, inner, condition)
        if owners:
            return Count(met), named("count", inner)  # every row has an owner
    found = scalars.scope.found(inner)
    counted = scalars.value(inner) if found is None else Value("number", found)
    if counted.kind == "null":
        raise scalars.refusal(node, "COUNT(NULL) counts nothing.", "Write COUNT(*).")
    present = simplifier.negation(simplifier.is_null(counted.node)) if counted.node.nullable else None
    parts = [part for part in (present, condition) if part is not None]
    return Count(simplifier.conjunction(parts) if parts else None), named("count", inner)


def _distinct(scalars: Scalars, distinct: exp.Distinct, condition: Boolean | None) -> tuple[Aggregator, str]:
    if len(distinct.expressions) != 1:
        raise scalars.refusal(distinct, "DISTINCT takes one value here.", "Count one column, or GROUP BY several.")
    counted = distinct.expressions[0].unnest()
    owners, condition = owner_where(scalars, counted, condition)
    if owners:  # with a condition: each owner's rows that meet it are counted, at most one of them
        return CountDistinctOwner() if condition is None else SumOfOwners(None, condition, 0, 1), "count"
    value, _ = _chosen_from(scalars, counted, condition)
    return CountDistinctValues(value), named("count", counted)


def owner_where(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[bool, Boolean | None]:
    """Whether a value is the owner, or CASE WHEN c THEN the owner END, and the condition under which it is not NULL."""
    if isinstance(node, exp.Column):
        found = None if scalars.scope.is_owner(node) else scalars.scope.found(node)
        if found is None:
            return scalars.scope.is_owner(node), condition
        present = simplifier.negation(simplifier.is_null(found))  # of that table an outer join may have found no row
        return True, present if condition is None else simplifier.conjunction((present, condition))
    if not isinstance(node, exp.Case) or node.this is not None or not node.args.get("ifs"):
        return False, condition
    results = [branch.args["true"].unnest() for branch in node.args["ifs"]]
    if not all(isinstance(result, exp.Column) and scalars.scope.is_owner(result) for result in results):
        return False, condition
    if not isinstance(node.args.get("default"), (exp.Null, type(None))):
        raise scalars.refusal(node, "only CASE WHEN condition THEN the owner END counts owners.", "Leave ELSE out.")
    met = simplifier.disjunction(scalars.truth(branch.this) for branch in node.args["ifs"])
    return True, met if condition is None else simplifier.conjunction((met, condition))


def _chosen_from(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Numeric | Textual, Column]:
    """A value as a column of its own, NULL where FILTER leaves it out."""
    value, column = column_of(scalars, node)
    if condition is None or not isinstance(value, (Numeric, Textual)):
        return (value, column) if isinstance(value, (Numeric, Textual)) else _no_value(scalars, node)
    if not isinstance(value, Numeric):
        raise scalars.refusal(node, "FILTER cannot leave out texts here.", "Write the condition into WHERE.")
    return bounded(simplifier.choose((condition,), (value,), Null())), nullable(column, True, None)


def _no_value(scalars: Scalars, node: exp.Expr) -> NoReturn:
    raise scalars.refusal(node, "a column or a value computed from columns is needed here.", "Name a column.")


def _sum(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    return Sum(summed(scalars, node, condition)), named("sum", node.this)


def _average(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    return Average(summed(scalars, node, condition)), named("avg", node.this)


def _spread(name: str, *, sample: bool, root: bool) -> Rule:
    def rule(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
        value = summed(scalars, node, condition, square=2)
        return Variance(value, sample, root), named(name, node.this)

    return rule


def _quantile(name: str, rank: Fraction) -> Rule:
    def rule(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
        return _at_rank(scalars, node, node.this, rank, condition), named(name, node.this)

    return rule


def _at_rank(
    scalars: Scalars, at: exp.Expr, argument: exp.Expr, rank: Fraction, condition: Boolean | None
) -> Aggregator:
    if isinstance(argument, exp.Distinct):
        raise scalars.refusal(at, "DISTINCT is not supported here.", "Leave DISTINCT out.")
    value, column = _chosen_from(scalars, argument.unnest(), condition)
    if not isinstance(value, Numeric) or isinstance(column, (Category, Bool)):
        hint = "Use a number, a date or a moment."
        raise scalars.refusal(at, "only values that have an order in numbers have ranks.", hint)
    return ChosenQuantile(value, rank.numerator, rank.denominator, _declared(column))


def _mode(scalars: Scalars, at: exp.Expr, argument: exp.Expr, condition: Boolean | None) -> Aggregator:
    value, column = _chosen_from(scalars, argument.unnest(), condition)
    if not isinstance(value, Numeric) or value.high - value.low >= MOST_CANDIDATES:
        hint = "Use a Category, Bool, Int or Date column with fewer declared values."
        raise scalars.refusal(at, f"MODE chooses among at most {MOST_CANDIDATES} declared values.", hint)
    return ChosenMode(value, _declared(column))


def _declared(column: Column) -> Column | None:
    """What says how values are shown that are no plain numbers."""
    return None if column.shown == "number" else column


def _within_group(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x [DESC]) and MODE() WITHIN GROUP (ORDER BY x)."""
    function, order = node.this, node.expression
    if order is None or len(order.expressions) != 1:
        raise scalars.refusal(node, "ORDER BY names one value here.", "Write WITHIN GROUP (ORDER BY x).")
    ordered = order.expressions[0]
    argument = ordered.this if isinstance(ordered, exp.Ordered) else ordered
    if isinstance(function, exp.Mode):
        if function.this is not None:
            raise scalars.refusal(
                function, "MODE takes its value from ORDER BY.", "Write MODE() WITHIN GROUP (ORDER BY x)."
            )
        return _mode(scalars, node, argument, condition), named("mode", argument)
    if not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)):
        raise scalars.refusal(node, "WITHIN GROUP is for PERCENTILE_CONT and MODE.", "Leave it out.")
    literal = scalars.value(function.this.unnest()).node
    rank = Fraction(literal.value, 10**literal.scale) if isinstance(literal, Constant) else Fraction(-1)
    if not 0 <= rank <= 1:
        raise scalars.refusal(function, "a percentile is a number from 0 to 1.", "Write PERCENTILE_CONT(0.9).")
    rank = 1 - rank if isinstance(ordered, exp.Ordered) and ordered.args.get("desc") else rank
    rank = min(max(rank, LEAST / 10), 1 - LEAST / 10)
    return _at_rank(scalars, node, argument, rank, condition), named("percentile", argument)


def _plain_mode(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    if node.this is None:
        raise scalars.refusal(node, "MODE names no value.", "Write MODE() WITHIN GROUP (ORDER BY x).")
    return _mode(scalars, node, node.this, condition), named("mode", node.this)


def _own(scalars: Scalars, node: exp.Expr, condition: Boolean | None) -> tuple[Aggregator, str]:
    """OWNER_SUM(x, lower, upper) and OWNER_COUNT(upper)."""
    given = node.expressions
    if str(node.this).upper() == "OWNER_COUNT":
        if len(given) != 1:
            raise scalars.refusal(node, "OWNER_COUNT takes one number.", "Write OWNER_COUNT(upper).")
        (most,) = _bounds(scalars, node, given, 0)
        if most < 1:
            raise scalars.refusal(node, "an owner's rows are clamped to at least 1.", "Write OWNER_COUNT(10).")
        return SumOfOwners(None, condition, 0, most), "owner_count"
    if len(given) != 3:
        raise scalars.refusal(node, "OWNER_SUM takes a value and two bounds.", "Write OWNER_SUM(x, 0, 1000).")
    value = summed(scalars, exp.Sum(this=given[0]), condition)
    least, most = _bounds(scalars, node, given[1:], value.scale)
    if not least <= most:
        raise scalars.refusal(node, "the lower bound is above the upper one.", "Write OWNER_SUM(x, 0, 1000).")
    return SumOfOwners(value, None, least, most), named("owner_sum", given[0])


def _bounds(scalars: Scalars, at: exp.Expr, nodes: list[exp.Expr], decimals: int) -> list[int]:
    found = []
    for node in nodes:
        value = scalars.value(node.unnest()).node
        if not isinstance(value, Constant) or value.scale > decimals or abs(value.value) > 2**62:
            hint = f"Write numbers with at most {decimals} decimals, as the value has."
            raise scalars.refusal(at, "the bounds are numbers.", hint)
        found.append(value.value * 10 ** (decimals - value.scale))
        _check_sum(scalars, at, abs(found[-1]))  # of all owners' totals, each as large as its bound
    return found


Rule = Callable[[Scalars, exp.Expr, Boolean | None], tuple[Aggregator, str]]
RULES: dict[type[exp.Expr], Rule] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Variance: _spread("variance", sample=True, root=False),
    exp.VariancePop: _spread("variance", sample=False, root=False),
    exp.Stddev: _spread("stddev", sample=True, root=True),
    exp.StddevSamp: _spread("stddev", sample=True, root=True),
    exp.StddevPop: _spread("stddev", sample=False, root=True),
    exp.Min: _quantile("min", LEAST),
    exp.Max: _quantile("max", GREATEST),
    exp.Median: _quantile("median", Fraction(1, 2)),
    exp.WithinGroup: _within_group,
    exp.Mode: _plain_mode,
    exp.Anonymous: _own,
}
