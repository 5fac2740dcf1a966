"""What `interval` returns everywhere: a lower and an upper end."""

from __future__ import annotations

from typing import Any, NamedTuple

from dither.exact.digits import decimal_ends


class Interval(NamedTuple):
    """Lower and upper ends: two numbers, or two arrays, lists or dicts of them with an end for each number.

    An end that is infinite says that there is no bound on that side.

    >>> from fractions import Fraction
    >>> low, high = Interval(Fraction(1, 3), Fraction(2, 3))
    >>> Interval(low, high)
    Interval(lower=0.333333, upper=0.666667)
    """

    lower: Any
    upper: Any

    def __repr__(self) -> str:
        low, high = decimal_ends(self.lower, up=False), decimal_ends(self.upper, up=True)
        return f"Interval(lower={low}, upper={high})"
