"""Aggregates of one group of rows, exactly, by their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sql_reference_functions import half_away
from sql_reference_scalars import Scalars
from sql_reference_terms import COMPARE, Row, Unknown, cut
from sqlglot import exp

AVERAGE_DECIMALS = 6  # an average inside another SELECT has so many more than its values, cut toward zero


@dataclass(frozen=True)
class Values:
    """What a quantile or a mode is chosen from: how often each value occurs."""

    counts: Counter[Any]


@dataclass(frozen=True)
class Aggregates:
    """Reads select items over groups; `owner` says whose a row is. `inside` another SELECT, extremes are values."""

    scalars: Scalars
    owner: Callable[[Row], Any]
    inside: bool = False

    def value(self, node: exp.Expr, rows: Sequence[Row]) -> Any:
        """An aggregate, or arithmetic of aggregates in real numbers."""
        node = node.unnest()
        if isinstance(node, exp.Filter):
            kept = self.scalars.is_true(node.expression.this)
            return self.value(node.this, [row for row in rows if kept(row)])
        rule = RULES.get(type(node))
        if rule is not None:
            return rule(self, node, rows)
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in OWNERS:
            return OWNERS[str(node.this).upper()](self, node.expressions, rows)
        if isinstance(node, exp.Literal) and not node.is_string:
            return Fraction(str(node.this))
        if isinstance(node, (exp.Greatest, exp.Coalesce)):
            several = [self.value(part, rows) for part in (node.this, *node.expressions)]
            given = [value for value in several if value is not None]
            return (max(given) if isinstance(node, exp.Greatest) else given[0]) if given else None
        parts = [self.value(part, rows) for part in (node.this, node.args.get("expression")) if part is not None]
        compute = ARITHMETIC.get(type(node))
        if compute is None or any(isinstance(part, Values) for part in parts):
            raise Unknown(f"{type(node).__name__}: {node.sql()}")
        return None if any(part is None for part in parts) else compute(*parts)

    def truth(self, node: exp.Expr, rows: Sequence[Row]) -> bool | None:
        """A condition on aggregates, in three-valued logic."""
        node = node.unnest()
        if isinstance(node, (exp.And, exp.Or)):
            decisive = isinstance(node, exp.Or)
            parts = [self.truth(part, rows) for part in (node.this, node.expression)]
            return decisive if decisive in parts else None if None in parts else not decisive
        compare = COMPARE.get(type(node).__name__)
        if compare is None:
            raise Unknown(node.sql())
        left, right = self.value(node.this, rows), self.value(node.expression, rows)
        if isinstance(left, Values) or isinstance(right, Values):
            return None
        return None if left is None or right is None else compare(left, right)

    def given(self, node: exp.Expr, rows: Sequence[Row]) -> list[Any]:
        """The values of an argument that are not NULL."""
        term = self.scalars.term(node)
        return [value for value in map(term.of, rows) if value is not None]

    def numbers(self, node: exp.Expr, rows: Sequence[Row]) -> list[Fraction]:
        found = self.given(node, rows)
        return [Fraction(int(value)) if isinstance(value, bool) else value for value in found]

    def by_owner(self, rows: Sequence[Row]) -> list[list[Row]]:
        found: dict[Any, list[Row]] = {}
        for row in rows:
            found.setdefault(self.owner(row), []).append(row)
        return list(found.values())


def _count(self: Aggregates, node: exp.Count, rows: Sequence[Row]) -> Fraction:
    inner = node.this
    if isinstance(inner, exp.Star):
        return Fraction(len(rows))
    if isinstance(inner, exp.Distinct):
        (counted,) = inner.expressions
        return Fraction(len(set(self.given(counted, rows))))
    return Fraction(len(self.given(inner, rows)))


def _sum(self: Aggregates, node: exp.Expr, rows: Sequence[Row]) -> Fraction | None:
    """Of no values: 0 in an answer, where NULL would tell; NULL inside another SELECT, as in SQL."""
    values = self.numbers(node.this, rows)
    return sum(values, Fraction(0)) if values or not self.inside else None


def _mean(self: Aggregates, node: exp.Expr, rows: Sequence[Row]) -> Fraction | None:
    values = self.numbers(node.this, rows)
    if not values:
        return None
    mean = sum(values, Fraction(0)) / len(values)
    return cut(mean, min(18, self.scalars.term(node.this).decimals + AVERAGE_DECIMALS)) if self.inside else mean


def _variance(sample: bool) -> Callable[[Aggregates, Any, Sequence[Row]], Fraction | None]:
    def rule(self: Aggregates, node: exp.Expr, rows: Sequence[Row]) -> Fraction | None:
        values = self.numbers(node.this, rows)
        if len(values) <= sample:
            return None
        mean = sum(values, Fraction(0)) / len(values)
        return sum(((value - mean) ** 2 for value in values), Fraction(0)) / (len(values) - sample)

    return rule


def _root(sample: bool) -> Callable[[Aggregates, Any, Sequence[Row]], float | None]:
    def rule(self: Aggregates, node: exp.Expr, rows: Sequence[Row]) -> float | None:
        square = _variance(sample)(self, node, rows)
        return None if square is None else float(square) ** 0.5

    return rule


def _values(pick: Callable[[list[Any]], Any] | None = None) -> Callable[[Aggregates, Any, Sequence[Row]], Any]:
    def rule(self: Aggregates, node: exp.Expr, rows: Sequence[Row]) -> Any:
        given = self.given(node.this, rows)
        if not self.inside:
            return Values(Counter(given))
        if pick is None:
            raise Unknown(f"{node.sql()} inside")
        return pick(given) if given else None

    return rule


def _within(self: Aggregates, node: exp.WithinGroup, rows: Sequence[Row]) -> Values:
    (ordered,) = node.expression.expressions
    return Values(Counter(self.given(ordered.this, rows)))


def _clamped(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    return min(max(value, low), high)


def _owner_sum(self: Aggregates, nodes: list[exp.Expr], rows: Sequence[Row]) -> Fraction:
    argument, *ends = nodes
    low, high = (self.scalars.term(end).of({}) for end in ends)
    owned = [self.numbers(argument, own) for own in self.by_owner(rows)]
    # Who has no value at all has no total.
    return sum((_clamped(sum(values, Fraction(0)), low, high) for values in owned if values), Fraction(0))


def _owner_count(self: Aggregates, nodes: list[exp.Expr], rows: Sequence[Row]) -> Fraction:
    (most,) = (self.scalars.term(end).of({}) for end in nodes)
    return sum((min(Fraction(len(own)), most) for own in self.by_owner(rows)), Fraction(0))


RULES: dict[type[exp.Expr], Callable[[Aggregates, Any, Sequence[Row]], Any]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _mean,
    exp.Variance: _variance(True),
    exp.VariancePop: _variance(False),
    exp.Stddev: _root(True),
    exp.StddevSamp: _root(True),
    exp.StddevPop: _root(False),
    exp.Min: _values(min),
    exp.Max: _values(max),
    exp.Median: _values(),
    exp.Mode: _values(),
    exp.WithinGroup: _within,
}
OWNERS = {"OWNER_SUM": _owner_sum, "OWNER_COUNT": _owner_count}
ARITHMETIC: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Neg: lambda a: -a,
    exp.Abs: abs,
    exp.Sqrt: lambda a: float(a) ** 0.5,
    exp.Round: lambda a: half_away(a, 0),
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: None if b == 0 else a / b,
}
