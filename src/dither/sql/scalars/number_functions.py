"""Functions of numbers: FLOOR, CEIL, ROUND, TRUNC, SIGN, WIDTH_BUCKET."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.expressions import Constant, Numeric
from dither.sql.scalars import rounding
from dither.sql.scalars.literals import MOST_DECIMALS
from dither.sql.scalars.number_types import is_integer
from dither.sql.scalars.scalar import Scalars, Value

MOST_BUCKETS = 1_000_000


def _unary(build: Callable[[Numeric], Numeric]) -> Callable[[Scalars, exp.Expr], Value]:
    return lambda scalars, node: Value("number", build(scalars.number(node.this)))


def _to_whole(
    build: Callable[[Numeric], Numeric], of_quotient: Callable[[Numeric, int], Numeric]
) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        number = scalars.number(node.this)
        quotient = _quotient(scalars, node.this.unnest())
        return Value("number", build(number) if quotient is None else of_quotient(*quotient))

    return rule


def _quotient(scalars: Scalars, node: exp.Expr) -> tuple[Numeric, int] | None:
    """A whole number and the constant above 0 that it is divided by, with decimals, if that is what stands here."""
    if not isinstance(node, exp.Div) or is_integer(node):
        return None
    value, divisor = scalars.number(node.this), scalars.number(node.expression)
    whole = value.scale == divisor.scale == 0 and isinstance(divisor, Constant) and divisor.value > 0
    return (value, divisor.low) if whole else None


def _to_decimals(
    build: Callable[[Numeric, int], Numeric], of_quotient: Callable[[Numeric, int], Numeric]
) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        given = node.args.get("decimals")
        decimals = 0 if given is None else scalars.constant(given, least=-MOST_DECIMALS, most=MOST_DECIMALS)
        number = scalars.number(node.this)
        if isinstance(node, exp.Round) and given is None:
            scalars.no_float(node)
        quotient = None if decimals else _quotient(scalars, node.this.unnest())
        return Value("number", build(number, decimals) if quotient is None else of_quotient(*quotient))

    return rule


def _bucket(scalars: Scalars, node: exp.Expr) -> Value:
    ends = [scalars.number(node.args[name]) for name in ("min_value", "max_value") if node.args.get(name) is not None]
    count = node.args.get("num_buckets")
    hint = "Write WIDTH_BUCKET(x, 0, 100, 10), with numbers for the bounds and how many buckets lie between them."
    if len(ends) != 2 or count is None or not all(isinstance(end, Constant) for end in ends):
        raise scalars.refusal(node, "WIDTH_BUCKET takes a value, two bounds and a number of buckets.", hint)
    low, high = (end for end in ends if isinstance(end, Constant))
    value = scalars.number(node.this)
    buckets = scalars.constant(count, least=1, most=MOST_BUCKETS)
    if not low.value * 10**high.scale < high.value * 10**low.scale:
        raise scalars.refusal(node, "the lower bound of WIDTH_BUCKET comes first.", hint)
    return Value("number", rounding.bucket(value, low, high, buckets))


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Floor: _to_whole(rounding.floor, rounding.floor_divide),
    exp.Ceil: _to_whole(rounding.ceiling, rounding.ceiling_divide),
    exp.Round: _to_decimals(rounding.rounded, rounding.round_divide),
    exp.Trunc: _to_decimals(rounding.truncated, rounding.cut_divide),
    exp.Sign: _unary(rounding.sign),
    exp.WidthBucket: _bucket,
}
