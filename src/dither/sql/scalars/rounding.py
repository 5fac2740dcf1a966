"""Builders for division with a rule for what is left over: FLOOR, CEIL, ROUND, TRUNC, SIGN and buckets.

They need no operator beyond cutting division: a value with known bounds is moved above zero first, where cutting is
rounding down.

>>> from dither.sql.expressions import Stored
>>> floor_divide(Stored("x", -25, 25, 0, may_be_null=False), 10).bounds
(-3, 2)
"""

from __future__ import annotations

from dither.sql.expressions import Clamp, Constant, Divide, Numeric, simplifier


def in_units(value: Numeric) -> Numeric:
    """The number of units, as a whole number: 2.50 with two decimals is 250."""
    if isinstance(value, Constant):
        return Constant(value.value)
    return Divide(value, Constant(1), 0) if value.scale else value


def units(value: Numeric, decimals: int) -> Numeric:
    """A whole number of units as the number it stands for: 250 with two decimals is 2.50."""
    return simplifier.multiply(value, Constant(1, decimals)) if decimals else value


def cut_divide(value: Numeric, divisor: int) -> Numeric:
    """A whole number divided by a positive constant, cut toward zero."""
    return simplifier.divide(value, Constant(divisor)) if divisor != 1 else value


def floor_divide(value: Numeric, divisor: int) -> Numeric:
    """A whole number divided by a positive constant, rounded down."""
    if divisor == 1:
        return value
    start = min(0, value.low // divisor)
    return _moved(cut_divide(_moved(value, -start * divisor), divisor), start)


def ceiling_divide(value: Numeric, divisor: int) -> Numeric:
    """A whole number divided by a positive constant, rounded up."""
    return simplifier.negate(floor_divide(simplifier.negate(value), divisor))


def round_divide(value: Numeric, divisor: int) -> Numeric:
    """A whole number divided by a positive constant, a half rounded away from zero."""
    # A rest of half the divisor or more, added once more, carries over; v = qd + r gives (qd + 2r) / d.
    return cut_divide(simplifier.add(value, simplifier.modulo(value, Constant(divisor))), divisor)


def floor_modulo(value: Numeric, divisor: int) -> Numeric:
    """What rounding down leaves: 0 to divisor - 1."""
    start = min(0, value.low // divisor)
    return simplifier.modulo(_moved(value, -start * divisor), Constant(divisor))


def _moved(value: Numeric, by: int) -> Numeric:
    return simplifier.add(value, Constant(by)) if by else value


def floor(value: Numeric) -> Numeric:
    return floor_divide(in_units(value), 10**value.scale)


def ceiling(value: Numeric) -> Numeric:
    return simplifier.negate(floor(simplifier.negate(value))) if value.scale else value


def rounded(value: Numeric, decimals: int) -> Numeric:
    """To so many decimals, half away from zero; a negative number rounds to tens, hundreds and so on."""
    step = 10 ** (value.scale - decimals) if decimals < value.scale else 1
    if step == 1:
        return value
    return _steps(round_divide(in_units(value), step), decimals)


def truncated(value: Numeric, decimals: int) -> Numeric:
    """To so many decimals, cut toward zero."""
    step = 10 ** (value.scale - decimals) if decimals < value.scale else 1
    return value if step == 1 else _steps(cut_divide(in_units(value), step), decimals)


def _steps(count: Numeric, decimals: int) -> Numeric:
    """So many steps of 10**-decimals."""
    return units(count, decimals) if decimals >= 0 else simplifier.multiply(count, Constant(10**-decimals))


def sign(value: Numeric) -> Numeric:
    """-1, 0 or 1."""
    return clamped(in_units(value), -1, 1)


def clamped(value: Numeric, least: int, most: int) -> Numeric:
    if isinstance(value, Constant):
        return Constant(min(max(value.value, least), most), value.scale)
    return value if least <= value.low and value.high <= most else Clamp(value, least, most)


def bucket(value: Numeric, low: Constant, high: Constant, count: int) -> Numeric:
    """Which of `count` equal parts of [low, high) the value lies in, from 1; 0 below them all, count + 1 above."""
    value, *ends = simplifier.aligned((value, low, high))
    first, last = (end.low for end in ends)
    scaled = simplifier.multiply(_moved(in_units(value), -first), Constant(count))
    return _moved(floor_divide(clamped(scaled, -1, (last - first) * count), last - first), 1)
