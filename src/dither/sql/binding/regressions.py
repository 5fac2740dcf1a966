"""CORR, COVAR_POP, COVAR_SAMP and REGR_*: formulas over averages, variances and counts, which together cost one price.

A covariance is the mean product of distances from two constants less the product of the mean distances. The constants
are the middles of the declared ranges, so that products are small and their mean takes little noise.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from dither.sql.scalars.scalar import Scalars
from dither.sql.text.subtree import subtree


def with_regressions(select: exp.Expr, scalars: Scalars) -> None:
    """Write out every such call in the select list, HAVING and ORDER BY of a query."""
    clauses = (select.args.get(name) for name in ("having", "order"))
    for part in [*select.expressions, *(clause for clause in clauses if clause is not None)]:
        for node in subtree(part):
            if type(node) in FORMULAS:
                filtered = isinstance(node.parent, exp.Filter)
                call = node.parent if filtered and node.parent is not None else node
                condition = call.expression.this if filtered else None
                formula = FORMULAS[type(node)](_Pair(scalars, node.expression, node.this, condition))
                call.replace(exp.paren(formula, copy=False))


class _Pair:
    """Two values x and y, as the rows that have both have them."""

    def __init__(self, scalars: Scalars, x: exp.Expr, y: exp.Expr, condition: exp.Expr | None) -> None:
        self._scalars = scalars
        self.x, self.y = self._beside(x, y, condition), self._beside(y, x, condition)
        self._middles = [self._middle(value) for value in (x, y)]

    def _beside(self, value: exp.Expr, other: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
        needs: list[exp.Expr] = [] if condition is None else [exp.paren(condition.copy())]
        if self._scalars.number(other).nullable:
            needs.append(exp.Not(this=exp.Is(this=exp.paren(other.copy()), expression=exp.Null())))
        if not needs:
            return value.copy()
        branch = exp.If(this=exp.and_(*needs, copy=False), true=value.copy())
        return exp.Case(ifs=[branch])

    def _middle(self, value: exp.Expr) -> exp.Expr:
        number = self._scalars.number(value)
        middle = Decimal((number.low + number.high) // 2).scaleb(-number.scale)
        literal = exp.Literal.number(f"{abs(middle):f}")
        return exp.Neg(this=literal) if middle < 0 else literal

    def _distance(self, value: exp.Expr, middle: exp.Expr) -> exp.Expr:
        return exp.paren(exp.Sub(this=exp.paren(value.copy()), expression=exp.paren(middle.copy())), copy=False)

    @property
    def covariance(self) -> exp.Expr:
        pairs = list(zip((self.x, self.y), self._middles, strict=True))
        product = exp.Avg(this=exp.Mul(**_sides(*(self._distance(*pair) for pair in pairs))))
        means = (self._distance(exp.Avg(this=value.copy()), middle) for value, middle in pairs)
        return exp.paren(exp.Sub(this=product, expression=exp.Mul(**_sides(*means))), copy=False)

    @property
    def count(self) -> exp.Expr:
        return exp.Count(this=self.x.copy(), big_int=True)

    @property
    def slope(self) -> exp.Expr:
        return exp.Div(this=self.covariance, expression=variance(self.x))

    @property
    def squared_correlation(self) -> exp.Expr:
        above = exp.Mul(**_sides(self.covariance, self.covariance))
        return exp.Div(this=exp.paren(above), expression=self.variances)

    @property
    def variances(self) -> exp.Expr:
        return exp.paren(exp.Mul(**_sides(variance(self.x), variance(self.y))), copy=False)


def _sides(left: exp.Expr, right: exp.Expr) -> dict[str, exp.Expr]:
    return {"this": left, "expression": right}


def variance(value: exp.Expr) -> exp.Expr:
    return exp.VariancePop(this=value.copy())


def _within(value: exp.Expr, low: int, high: int) -> exp.Expr:
    """At least `low` and at most `high`, as the number would be without noise; NULL stays NULL."""
    ends = [exp.Literal.number(high), exp.Neg(this=exp.Literal.number(-low)) if low < 0 else exp.Literal.number(low)]
    above, below = ends
    branches = [
        exp.If(this=exp.GT(**_sides(value.copy(), above)), true=above.copy()),
        exp.If(this=exp.LT(**_sides(value.copy(), below)), true=below.copy()),
    ]
    return exp.Case(ifs=branches, default=value)


def _sample_covariance(pair: _Pair) -> exp.Expr:
    rows = exp.Greatest(this=pair.count, expressions=[exp.Literal.number(2)], ignore_nulls=True)
    less = exp.paren(exp.Sub(this=rows.copy(), expression=exp.Literal.number(1)), copy=False)
    return exp.Div(this=exp.paren(exp.Mul(**_sides(pair.covariance, rows))), expression=less)


def _correlation(pair: _Pair) -> exp.Expr:
    return _within(exp.Div(this=pair.covariance, expression=exp.Sqrt(this=pair.variances)), -1, 1)


def _intercept(pair: _Pair) -> exp.Expr:
    along = exp.Mul(**_sides(exp.paren(pair.slope), exp.Avg(this=pair.x.copy())))
    return exp.Sub(this=exp.Avg(this=pair.y.copy()), expression=along)


FORMULAS: dict[type[exp.Expr], Callable[[_Pair], exp.Expr]] = {
    exp.CovarPop: lambda pair: pair.covariance,
    exp.CovarSamp: _sample_covariance,
    exp.Corr: _correlation,
    exp.RegrSlope: lambda pair: pair.slope,
    exp.RegrIntercept: _intercept,
    exp.RegrR2: lambda pair: _within(pair.squared_correlation, 0, 1),
    exp.RegrCount: lambda pair: pair.count,
    exp.RegrAvgx: lambda pair: exp.Avg(this=pair.x.copy()),
    exp.RegrAvgy: lambda pair: exp.Avg(this=pair.y.copy()),
}
