"""How a noisy number is written: no digit that is noise, and an error that is never understated.

The half-width keeps two significant digits, rounded up; the value is rounded to the same place, and that rounding is
added to the half-width before it is rounded.

>>> write(Fraction(45712), Fraction(1234), unit=Fraction(1))
('45,700', '1,300')
>>> write(Fraction(45712), Fraction(96), unit=Fraction(1))
('45,712', '96')
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

_SHOWN_DIGITS = 2


def write(value: Fraction, half_width: Fraction, *, unit: Fraction | None = None) -> tuple[str, str]:
    """The value and its half-width as text. `unit`, a power of ten, is the column's grid: nothing finer is written."""
    exponent = _exponent(half_width) - _SHOWN_DIGITS + 1
    place, rounding = Fraction(10) ** exponent, Fraction(1, 2)
    if unit is not None and place <= unit:
        exponent, place, rounding = _exponent(unit), unit, Fraction(0)
    width = math.ceil(half_width / place + rounding)
    return plain(round(value / place) * place, max(0, -exponent)), plain(width * place, max(0, -exponent))


def write_arms(
    value: Fraction, below: Fraction | None, above: Fraction | None, *, unit: Fraction | None = None
) -> tuple[str, str, str]:
    """The value and how far below and above it the exact one may lie, to two digits of the shorter arm that is known.

    >>> write_arms(Fraction(54612), Fraction(9540), Fraction(14020), unit=Fraction(1))
    ('54,600', '9,600', '14,100')
    """
    arms = [arm for arm in (below, above) if arm is not None and arm > 0]
    exponent = _exponent(min(arms)) - _SHOWN_DIGITS + 1 if arms else 0
    place, rounding = Fraction(10) ** exponent, Fraction(1, 2)
    if unit is not None and place <= unit:
        exponent, place, rounding = _exponent(unit), unit, Fraction(0)
    decimals = max(0, -exponent)
    written = [
        "" if arm is None else plain(math.ceil(arm / place + rounding) * place, decimals) for arm in (below, above)
    ]
    return plain(round(value / place) * place, decimals), written[0], written[1]


def plain(number: Fraction, decimals: int) -> str:
    """A number with that many decimals, thousands separated."""
    digits = str(round(abs(number) * 10**decimals)).rjust(decimals + 1, "0")
    whole, part = (digits[:-decimals], "." + digits[-decimals:]) if decimals else (digits, "")
    sign = "-" if number < 0 and any(digit in "123456789" for digit in digits) else ""
    return f"{sign}{int(whole):,}{part}"


def decimal(number: Fraction) -> str:
    """A number in as few digits as say it, or in six that matter.

    >>> decimal(Fraction(60)), decimal(Fraction(1, 4)), decimal(Fraction(2, 3))
    ('60', '0.25', '0.666667')
    """
    return str(number) if number.denominator == 1 else f"{float(number):.6g}"


def decimal_text(value: Fraction, *, up: bool, digits: int = 4) -> str:
    """A few significant digits, rounded to the side that promises less.

    >>> decimal_text(Fraction(1, 3), up=True), decimal_text(Fraction(1, 3), up=False)
    ('0.3334', '0.3333')
    """
    with localcontext(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR):
        number = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    return f"{number:f}" if Decimal("0.0001") <= abs(number) < 10**digits or not number else f"{number:e}"


def decimal_ends(ends: Any, *, up: bool) -> str:
    """One end of an interval, or several, in six digits rounded outward; what is no exact number as Python shows it."""
    if isinstance(ends, Fraction):
        return str(ends) if ends.denominator == 1 else decimal_text(ends, up=up, digits=6)
    if isinstance(ends, tuple):
        return f"({', '.join(decimal_ends(end, up=up) for end in ends)})"
    return repr(ends)


def counted(count: int | Fraction, what: str) -> str:
    """So many of a thing.

    >>> counted(1, "row"), counted(12000, "group")
    ('1 row', '12,000 groups')
    """
    number = f"{count:,}" if isinstance(count, int) else decimal(count)
    return f"{number} {what}" + ("" if count == 1 else "s")


def number_above(number: Fraction) -> int | float:
    """The number as it is if it is whole, else the nearest float that is not less."""
    return number.numerator if number.denominator == 1 else float_above(number)


def float_above(number: Fraction) -> float:
    """The nearest float that is not less."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def _exponent(number: Fraction) -> int:
    """The exponent of the leading decimal digit; 0 for zero."""
    if not number > 0:
        return 0
    guess = len(str(number.numerator)) - len(str(number.denominator))
    return guess if number >= Fraction(10) ** guess else guess - 1
