"""Noisy numbers scaled up: exact integers, and errors that cover the rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dither.sql.postprocess.measure_errors import scaled, scaled_errors

FACTORS = st.integers(1, 5 * 10**6).map(lambda above: 1 + Fraction(above, 10**6))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), FACTORS)
def test_the_nearest_whole_number(values: list[int], factor: Fraction) -> None:
    for given_as in (np.array(values, dtype=np.int64), np.array(values, dtype=object)):
        found = scaled(given_as, factor)
        assert all(abs(int(got) - value * factor) <= Fraction(1, 2) for got, value in zip(found, values, strict=True))


@given(st.integers(-(10**9), 10**9), st.integers(-(10**6), 10**6), FACTORS)
def test_what_held_still_holds(exact: int, noise: int, factor: Fraction) -> None:
    (width,) = scaled_errors([Fraction(abs(noise))], [factor])
    assert abs(int(scaled(np.array([exact + noise]), factor)[0]) - exact * factor) <= width


def test_a_factor_of_one_changes_nothing() -> None:
    values = np.array([3, -4])
    assert scaled(values, Fraction(1)) is values
    assert scaled_errors([Fraction(3)], [Fraction(1)]) == [3]
    assert scaled(np.array([], dtype=np.int64), Fraction(3, 2)).tolist() == []
