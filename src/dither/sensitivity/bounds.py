"""Declared ranges: without one, one record moves a sum, a mean or an extreme arbitrarily far."""

from __future__ import annotations

from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.parameters import Number, interval


def declared(lower: Number | None, upper: Number | None) -> tuple[Fraction, Fraction]:
    """The declared range, finite and lower < upper."""
    if lower is None or upper is None:
        raise ParameterError(
            "the sensitivity is infinite without a declared range; give lower and upper, "
            "from what the values mean and not from the data."
        )
    return interval(lower, upper, "the column")
