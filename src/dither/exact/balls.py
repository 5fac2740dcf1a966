"""Certified real arithmetic: a value is known as a ball, and leaves this file only as an outward-rounded exact number.

A ball that is too wide to decide is evaluated again with more bits: precision decides how long we look, never what we
say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dither.exact.precision import precision
from dither.exact.threads import freed_at_end

Ball = Any  # flint.arb: the package has no type stubs

START_BITS = 128
MOST_BITS = 8192
_WIDEST_EXPONENT = 40_000
_LARGEST_FLOAT = math.nextafter(math.inf, 0.0)


def ball(value: Fraction | int) -> Ball:
    """A ball that holds `value`: the number itself if it is whole, else as narrow as the working precision allows."""
    from flint import arb, fmpq

    freed_at_end()
    if isinstance(value, int):
        return arb(value)
    number = Fraction(value)
    return arb(fmpq(number.numerator, number.denominator))


def working_bits() -> int:
    """The working precision of the moment."""
    from flint import ctx

    return int(ctx.prec)


def zero_to(number: Ball) -> Ball:
    """A ball that contains every number from 0 up to the largest of the given ball."""
    return ball(0).union(number)


def whole_part(number: Ball) -> int | None:
    """The floor, if every number of the ball has the same one."""
    found = number.floor().unique_fmpz()
    return None if found is None else int(found)


def outward(number: Ball) -> tuple[int, int]:
    """Integers below and above every number of the ball."""
    return int(number.lower().floor().unique_fmpz()), int(number.upper().ceil().unique_fmpz())


def upper(value: Ball) -> Fraction | None:
    """An exact upper bound of a ball, None if it has no useful one."""
    return _outward(value.upper(), up=True) if value.is_finite() else None


def lower(value: Ball) -> Fraction | None:
    """An exact lower bound of a ball, None if it has no useful one."""
    return _outward(value.lower(), up=False) if value.is_finite() else None


def _outward(point: Ball, *, up: bool) -> Fraction | None:
    mantissa, exponent = point.man_exp()
    whole, shift = int(mantissa), int(exponent)
    # Balls reach exponents that no memory could write out: such a point moves outward to one that can be.
    if whole and shift + whole.bit_length() < -_WIDEST_EXPONENT:
        return Fraction(int(up and whole > 0) - int(not up and whole < 0), 1 << _WIDEST_EXPONENT)
    if shift > _WIDEST_EXPONENT:
        return None
    return Fraction(whole << shift) if shift >= 0 else Fraction(whole, 1 << -shift)


def sign(evaluate: Callable[[], Ball], *, undecided: int) -> int:
    """-1 or +1 as the value of `evaluate` is certainly below or above 0; `undecided` if 8192 bits cannot tell."""
    for bits in _rising_precision():
        with precision(bits):
            value = evaluate()
            if value > 0:
                return 1
            if value < 0:
                return -1
    return undecided


def floor_of(evaluate: Callable[[], Ball]) -> int:
    """The floor of the value; one too small (never too large) if 8192 bits cannot tell."""
    return _round(evaluate, math.floor, up=False)


def ceil_of(evaluate: Callable[[], Ball]) -> int:
    """The ceiling of the value; one too large (never too small) if 8192 bits cannot tell."""
    return _round(evaluate, math.ceil, up=True)


def bounds(evaluate: Callable[[], Ball], bits: int = 64) -> tuple[Fraction, Fraction]:
    """Exact lower and upper bounds that agree to about `bits` bits."""
    low = high = None
    for working in _rising_precision():
        with precision(working):
            value = evaluate()
            low, high = lower(value), upper(value)
        if low is not None and high is not None and (high - low) * 2**bits <= abs(low):
            return low, high
    if low is None or high is None:
        raise ArithmeticError("the value has no finite enclosure")
    return low, high


def float_up(value: Fraction) -> float:
    """The smallest float >= value."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -_LARGEST_FLOAT
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def float_down(value: Fraction) -> float:
    """The largest float <= value."""
    return -float_up(-value) + 0.0  # no negative zero


def dyadic_up(value: Fraction, bits: int = 53) -> Fraction:
    """value > 0 rounded up to at most `bits` significant binary digits."""
    scale = Fraction(2) ** (bits - (value.numerator.bit_length() - value.denominator.bit_length()))
    if value * scale > 2**bits:
        scale /= 2
    return math.ceil(value * scale) / scale


def _rising_precision() -> Iterator[int]:
    bits = START_BITS
    while bits <= MOST_BITS:
        yield bits
        bits *= 2


def _round(evaluate: Callable[[], Ball], rounding: Callable[[Fraction], int], *, up: bool) -> int:
    low = high = None
    for bits in _rising_precision():
        with precision(bits):
            value = evaluate()
            low, high = lower(value), upper(value)
        if low is not None and high is not None and rounding(low) == rounding(high):
            return rounding(low)
    if low is None or high is None:
        raise ArithmeticError("the value has no finite enclosure")
    return rounding(high) if up else rounding(low)
