"""Roots, logarithms and powers of whole numbers by whole numbers: integer algorithms, the same on every engine.

Inside, a number x is a whole number near to x * ONE. All is built of operators whose bounds the guard knows; clamps
that do nothing state what is known of a step beyond that. Series are summed above zero, where engines divide by powers
of two quickly.

>>> from dither.sql.expressions import Stored
>>> root(Stored("x", 0, 50, 0, may_be_null=False)).bounds
(0, 7071068)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt

from dither.exact.balls import Ball, ball, floor_of
from dither.sql.expressions import Boolean, Case, Clamp, Constant, Divide, Null, Numeric, Steps, let, simplifier
from dither.sql.expressions.evaluator import evaluate
from dither.sql.scalars.rounding import clamped, cut_divide, floor_divide

DECIMALS = 6
"""What roots, logarithms and powers are rounded to."""

BITS = 52  # that errors are far below the sixth decimal, and products far below 126 bits
ONE = 2**BITS
_FINER = 40  # bits more, where a product has room
_ROOM = 2**125  # below which the product of a clamped number stays
_UNIT = 10**DECIMALS
_TWO, _TEN = Fraction(2), Fraction(10)
_SMALLEST = -24 * ONE  # the logarithm to base 2 of what is rounded to 0
LARGEST = 104 * ONE  # the one of the largest power: 2**104 with six decimals takes 124 bits


@lru_cache(maxsize=256)
def _nearest(above: Fraction | None, base: Fraction | None, factor: Fraction | int) -> int:
    """The logarithm of one number to the base of another, times a factor, to the nearest whole number.

    None stands for e.
    """
    return floor_of(lambda: _natural(above) / _natural(base) * ball(factor) + ball(Fraction(1, 2)))


def _natural(number: Fraction | None) -> Ball:
    return ball(1) if number is None else ball(number).log()


def times(left: Numeric, right: Numeric) -> Numeric:
    """The product of two numbers of so many bits."""
    return Divide(simplifier.multiply(left, right), Constant(ONE))


def series(value: Numeric, coefficients: Sequence[Fraction]) -> Numeric:
    """A power series of a number from 0 on, by Horner's rule."""
    *rest, last = (int(coefficient * ONE) for coefficient in coefficients)
    found: Numeric = Constant(last)
    for coefficient in reversed(rest):
        found = let("sum", found, lambda sum_, c=coefficient: simplifier.add(times(sum_, value), Constant(c)))  # type: ignore[misc]
    return found


def _multiplied(clamped: Numeric, factor: Numeric) -> Numeric:
    """By a name of its own where it needs one: a clamp counts by all that its operand may reach."""
    if clamped.reach * factor.high < _ROOM:
        return simplifier.multiply(clamped, factor)
    return let("clamped", clamped, lambda value: simplifier.multiply(value, factor))


def folded(value: Numeric) -> Numeric:
    """A number that depends on no column, as the constant that it is."""
    if value.uses or isinstance(value, Constant):
        return value
    found = evaluate(value, {})
    return Null() if found.null[0] else Constant(int(found.of[0]), value.scale)


def _where(condition: Boolean, value: Numeric, *, needed: bool) -> Numeric:
    """The value where the condition holds, else NULL."""
    return Case((condition,), (value,), Null()) if needed else value


# Roots


def root(value: Numeric) -> Numeric:
    """The square root, in units of 10**-DECIMALS and rounded; NULL below zero."""
    finer, coarser = (4 * 10 ** max(0, 2 * DECIMALS - value.scale), 10 ** max(0, value.scale - 2 * DECIMALS))
    # Of n, four times the square and cut, isqrt(n) is twice the root and cut.
    most = isqrt(max(0, value.high) * finer // coarser)

    def of(number: Numeric) -> Numeric:
        above = clamped(number, 0, max(0, number.high))
        square = cut_divide(_multiplied(above, Constant(finer)), coarser)
        double = let("square", square, lambda square: _isqrt(square, most))
        half = let("double", double, lambda double: Divide(simplifier.add(double, Constant(1)), Constant(2)))
        return _where(simplifier.compare("<=", Constant(0), number), half, needed=value.low < 0)

    return folded(let("of", value, of))


def _isqrt(square: Numeric, most: int) -> Numeric:
    """Newton's method from above, from the power of two that is at most twice the root: it never goes below it."""
    bits = most.bit_length()
    starts = tuple(4**power for power in range(1, bits + 1))
    found: Numeric = Steps(square, starts, tuple(2**power for power in range(1, bits + 2)))
    for _ in range(bits.bit_length() + 1):  # the relative error is squared in each
        found = let("guess", found, lambda guess: _newton(square, guess, most))

    def cut(guess: Numeric) -> Numeric:
        above = simplifier.compare("<", square, simplifier.multiply(guess, guess))
        return clamped(Case((above,), (simplifier.subtract(guess, Constant(1)),), guess), 0, most)

    return let("guess", found, cut)


def _newton(square: Numeric, guess: Numeric, most: int) -> Numeric:
    return clamped(Divide(simplifier.add(guess, Divide(square, guess)), Constant(2)), 1, most + 1)


# Logarithms


def binary_logarithm(value: Numeric) -> Numeric:
    """The logarithm to base 2 of the units of a number above zero, with so many bits; never below zero."""
    most = value.high.bit_length()
    nearer = (2, *(3 * 2**power for power in range(most)))  # at which another power of two is
    starts = tuple(start for start in nearer if start <= max(2, value.high))
    places = range(len(starts) + 1)

    def of(number: Numeric) -> Numeric:
        power = Steps(number, starts, tuple(places))
        up = Steps(number, starts, tuple(2 ** max(0, BITS - place) for place in places))
        scaled = _multiplied(clamped(number, 1, ONE), up)
        if number.high > ONE:
            down = Steps(number, starts, tuple(2 ** max(0, place - BITS) for place in places))
            large = simplifier.compare("<", Constant(ONE), number)
            scaled = simplifier.choose((large,), (Divide(number, down),), scaled)
        fraction = let("mantissa", Clamp(scaled, 3 * ONE // 4, 3 * ONE // 2), _of_mantissa)
        whole = simplifier.multiply(power, Constant(ONE))
        return let("fraction", fraction, lambda fraction: clamped(simplifier.add(whole, fraction), 0, most * ONE))

    return let("of", clamped(value, 1, max(1, value.high)), of)


def _of_mantissa(mantissa: Numeric) -> Numeric:
    """log2 of m in [3/4, 3/2]: 2/ln 2 * (z + z**3 / 3 + z**5 / 5 + ...) for z = (m - 1) / (m + 1), at most 1/5."""
    above = simplifier.multiply(simplifier.subtract(mantissa, Constant(ONE)), Constant(ONE))
    factor = Constant(_nearest(None, _TWO, 2 * ONE))
    odd = [Fraction(1, 2 * place + 1) for place in range(12)]  # (1/5)**24 is below 2**-BITS

    def of(z: Numeric) -> Numeric:
        square = clamped(times(z, z), 0, ONE // 25 + 1)
        summed = let("square", square, lambda square: series(square, odd))
        scaled = let("sum", summed, lambda sum_: times(sum_, factor))
        return let("sum", scaled, lambda sum_: times(z, sum_))

    return let("z", Clamp(Divide(above, simplifier.add(mantissa, Constant(ONE))), -ONE // 7 - 1, ONE // 5), of)


def logarithm(value: Numeric, base: Fraction | None) -> Numeric:
    """The logarithm, in units of 10**-DECIMALS and rounded; NULL at and below zero.

    The base is above zero and not 1; None stands for e.
    """
    if base is not None and base < 1:
        return simplifier.negate(logarithm(value, 1 / base))
    bits = BITS + _FINER
    factor = _nearest(_TWO, base, _UNIT * 2**_FINER)
    decimals = value.scale * _nearest(_TEN, base, _UNIT * 2**bits)
    above = -(-decimals >> bits)  # so many units more, so that what is halved is above zero
    moved = Constant((above << bits) - decimals + (1 << bits - 1))

    def of(log: Numeric) -> Numeric:
        fine = simplifier.add(simplifier.multiply(log, Constant(factor)), moved)
        return simplifier.subtract(Divide(fine, Constant(2**bits)), Constant(above))

    found = let("log", binary_logarithm(value), of)
    return folded(_where(simplifier.compare("<=", Constant(1, value.scale), value), found, needed=value.low < 1))


# Powers


def binary_power(exponent: Numeric) -> Numeric:
    """2 to the power of a number of so many bits, in units of 10**-DECIMALS and rounded."""
    natural = Constant(_nearest(_TWO, None, ONE))
    terms = [Fraction(1, factorial(place)) for place in range(17)]  # ln(2)**17 / 17! is below 2**-BITS

    def of(number: Numeric) -> Numeric:
        return let("power", floor_divide(number, ONE), lambda power: split(number, power))

    def split(number: Numeric, power: Numeric) -> Numeric:
        rest = clamped(simplifier.subtract(number, simplifier.multiply(power, Constant(ONE))), 0, ONE)
        scaled = let("rest", rest, lambda rest: times(rest, natural))
        mantissa = let("rest", scaled, lambda rest: series(rest, terms))
        return let("mantissa", mantissa, lambda mantissa: shifted(clamped(mantissa, ONE, 2 * ONE), power))

    def shifted(mantissa: Numeric, power: Numeric) -> Numeric:
        places = range(power.low, power.high + 1)
        starts, down = tuple(places[1:]), [2 ** max(0, BITS - place) for place in places]
        up = Steps(power, starts, tuple(_UNIT * 2 ** max(0, place - BITS) for place in places))
        half = Steps(power, starts, tuple(divisor // 2 for divisor in down))
        return Divide(simplifier.add(simplifier.multiply(mantissa, up), half), Steps(power, starts, tuple(down)))

    return let("exponent", clamped(exponent, _SMALLEST, max(_SMALLEST, exponent.high)), of)


def exponential(value: Numeric) -> Numeric:
    """e to the power of the value, in units of 10**-DECIMALS and rounded."""
    factor = Constant(_nearest(None, _TWO, Fraction(2 ** (BITS + _FINER), 10**value.scale)))
    least = -17 * 10**value.scale  # at which it is rounded to 0
    inside = clamped(value, least, max(least, value.high))
    found = let("of", inside, lambda number: floor_divide(simplifier.multiply(number, factor), 2**_FINER))
    return folded(binary_power(found))


def power_logarithm(base: Numeric, exponent: Numeric) -> Numeric:
    """The logarithm to base 2 of a power of a number above zero, with so many bits."""
    decimals = Constant(base.scale * _nearest(_TEN, _TWO, ONE))
    log = let("log", binary_logarithm(base), lambda log: simplifier.subtract(log, decimals))

    def of(log: Numeric) -> Numeric:
        units = let("exponent", exponent, lambda units: simplifier.multiply(units, log))
        return let("product", units, lambda product: floor_divide(product, 10**exponent.scale))

    return let("log", log, of)
