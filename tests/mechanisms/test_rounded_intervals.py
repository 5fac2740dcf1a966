"""Where values are rounded to the grid, an interval covers the value itself, not only the rounded one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import Gaussian, Laplace

MECHANISMS = [
    Laplace(epsilon=10, sensitivity="0.1", grid=1, rounded_coordinates=1),
    Laplace(epsilon="0.5", sensitivity=2, grid="1/4", rounded_coordinates=3),
    Gaussian(rho=2, sensitivity="1/2", grid=1, rounded_coordinates=1),
    Gaussian(epsilon=1, delta="1e-6", sensitivity=3, grid="1/8", rounded_coordinates=2),
]
OFFSETS = [Fraction(0), Fraction(3, 10), Fraction(49, 100), Fraction(-49, 100), Fraction(1, 3)]


def coverage(mechanism: Any, value: Fraction, width: Fraction) -> Fraction:
    """Exact lower bound of P(|rounded value + noise - value| <= width), from the exact law."""
    rounded = round(value / mechanism.grid)
    reach = int(width / mechanism.grid) + 2
    hit = (k for k in range(-reach, reach + 1) if abs((rounded + k) * mechanism.grid - value) <= width)
    return sum((mechanism.pmf(k)[0] for k in hit), Fraction(0))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_error_covers_the_value_before_rounding(mechanism: Any) -> None:
    values = [offset * mechanism.grid for offset in OFFSETS]
    assert all(coverage(mechanism, value, mechanism.error("0.95")) >= Fraction("0.95") for value in values)


def test_planted_error_without_the_half_step_is_caught() -> None:
    short = MECHANISMS[0].error("0.95") - MECHANISMS[0].grid / 2
    assert coverage(MECHANISMS[0], Fraction(3, 10), short) < Fraction("0.95")


def test_intervals_have_exactly_that_width() -> None:
    for mechanism in MECHANISMS:
        released = mechanism.release(Fraction(3, 10) * mechanism.grid)
        low, high = released.interval("0.9")
        assert (released.value - low, high - released.value) == (mechanism.error("0.9"),) * 2
    vector = MECHANISMS[1].release([Fraction(1, 3), Fraction(2, 3)])
    low, high = vector.interval("0.9", together=True)
    assert (np.asarray(high) - np.asarray(low)).tolist() == [2 * MECHANISMS[1].error("0.9", count=2)] * 2
