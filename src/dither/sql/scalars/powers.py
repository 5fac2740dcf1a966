"""SQRT, LN, LOG, EXP and POWER of numbers in rows, rounded to six decimals. Where they are undefined, they are NULL.

What could grow too large by its declared bounds is refused, and so is a power that only some rows have.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from dither.sql.expressions import Case, Compare, Constant, Divide, Null, Numeric, let, simplifier
from dither.sql.scalars import fixed_point, rounding
from dither.sql.scalars.fixed_point import DECIMALS, LARGEST, ONE
from dither.sql.scalars.scalar import Scalars, Value

_MOST_POWER = 64


def _in_units(value: Numeric) -> Value:
    return Value("number", rounding.units(value, DECIMALS))


def _root(scalars: Scalars, node: exp.Expr) -> Value:
    value = scalars.number(node.this)
    _everywhere(scalars, node, value.low >= 0)
    _sometimes(scalars, node, value.high >= 0, "the square root of a number below zero is undefined.")
    finest = max(0, 2 * DECIMALS - value.scale)
    _small(scalars, node, 4 * value.high * 10**finest < 2**124)  # of which the root has 62 bits
    return _in_units(fixed_point.root(value))


def _natural(scalars: Scalars, node: exp.Expr) -> Value:
    return _logarithm(scalars, node, node.this, None)


def _to_base(scalars: Scalars, node: exp.Expr) -> Value:
    """LOG(x) has the base 10, LOG(b, x) the base b."""
    if node.args.get("expression") is None:
        return _logarithm(scalars, node, node.this, Fraction(10))
    base = scalars.number(node.this)
    if not isinstance(base, Constant) or base.value <= 0 or base.value == 10**base.scale:
        what = "the base of LOG is a number above zero other than 1, written in the question."
        raise scalars.refusal(node, what, "Write LOG(2, x), or LN(x) / LN(b).")
    return _logarithm(scalars, node, node.expression, Fraction(base.value, 10**base.scale))


def _logarithm(scalars: Scalars, node: exp.Expr, of: exp.Expr, base: Fraction | None) -> Value:
    value = scalars.number(of)
    _everywhere(scalars, node, value.low > 0)
    _sometimes(scalars, node, value.high > 0, "the logarithm of a number that is never above zero is undefined.")
    # A base next to 1 has logarithms of any size.
    _small(scalars, node, base is None or not Fraction(9, 10) < base < Fraction(11, 10))
    return _in_units(fixed_point.logarithm(value, base))


def _exponential(scalars: Scalars, node: exp.Expr) -> Value:
    value = scalars.number(node.this)
    _small(scalars, node, value.high * 1_442_696 < LARGEST // ONE * 1_000_000 * 10**value.scale)  # 1 / ln 2, rounded up
    return _in_units(fixed_point.exponential(value))


def _power(scalars: Scalars, node: exp.Expr) -> Value:
    base, exponent = scalars.number(node.this), scalars.number(node.expression)
    _everywhere(scalars, node, base.low > 0 or exponent.low >= 0)
    whole = isinstance(exponent, Constant) and exponent.value % 10**exponent.scale == 0
    times = exponent.low // 10**exponent.scale
    if whole and abs(times) <= _MOST_POWER:
        return Value("number", fixed_point.folded(_product(scalars, node, base, times)))
    if base.low < 0:
        what = "a number that may be below zero has no power but whole ones."
        raise scalars.refusal(node, what, "Write a whole number for the exponent, or POWER(ABS(x), y).")
    _small(scalars, node, max(map(abs, exponent.bounds)) < 2**58)
    found = fixed_point.power_logarithm(base, exponent)
    _small(scalars, node, found.high < LARGEST)
    return _in_units(fixed_point.folded(_at_zero(base, exponent, fixed_point.binary_power(found))))


def _at_zero(base: Numeric, exponent: Numeric, value: Numeric) -> Numeric:
    """Zero to any power above zero is 0, to the power of zero 1, and undefined below."""
    if base.low > 0:
        return value
    zero, unit = simplifier.compare("<=", base, Constant(0)), Constant(10**DECIMALS)
    at_zero = Case(
        (Compare("<=", Constant(1), exponent), Compare("=", exponent, Constant(0))), (Constant(0), unit), Null()
    )
    defined = Case((zero,), (at_zero,), value)
    return Case((simplifier.is_null(exponent),), (Null(),), defined) if exponent.nullable else defined


def _product(scalars: Scalars, node: exp.Expr, base: Numeric, times: int) -> Numeric:
    """A whole power: exactly, as long as it has at most 18 decimals; one below zero, of the reciprocal, rounded."""

    def of(number: Numeric) -> Numeric:
        found: Numeric = simplifier.multiply(number, Constant(0)) if times == 0 else number
        for _ in range(abs(times) - 1):
            found = simplifier.multiply(found, number)
        return simplifier.add(found, Constant(1)) if times == 0 else found

    size = max(map(abs, base.bounds))
    scale = base.scale * abs(times)
    _small(scalars, node, size ** abs(times) < 2**124 and 10 ** (scale + 2 * DECIMALS) < 2**124)
    found = let("of", base, of)
    if times >= 0:
        return rounding.units(found, scale)
    quotient = Divide(Constant(10 ** (scale + 2 * DECIMALS)), found, 2 * DECIMALS)
    return let("exact", quotient, lambda exact: rounding.units(rounding.round_divide(exact, 10**DECIMALS), DECIMALS))


def _small(scalars: Scalars, node: exp.Expr, fits: bool) -> None:
    if not fits:
        hint = "Bound what it is computed from: LEAST(x, 30), or declare narrower columns."
        raise scalars.refusal(node, "declared bounds allow values that are too large to compute here.", hint)


def _everywhere(scalars: Scalars, node: exp.Expr, defined: bool) -> None:
    """Refuse what another dialect has no NULL for."""
    if "defined" in node.meta and not defined:
        raise scalars.refusal(node, *node.meta["defined"])


def _sometimes(scalars: Scalars, node: exp.Expr, defined: bool, what: str) -> None:
    if not defined:
        raise scalars.refusal(node, what, "Declared bounds allow no other value here.")


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Sqrt: _root,
    exp.Ln: _natural,
    exp.Log: _to_base,
    exp.Exp: _exponential,
    exp.Pow: _power,
}
