"""Values become whole grid steps exactly, and steps become values again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.mechanisms.values import _CACHED, add, on_grid, shift, times_grid, to_grid

grids = st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(3), Fraction(1, 100), Fraction(7, 3)])
whole = st.one_of(st.integers(-5, 5), st.integers(-(2**63) - 3, -(2**63) + 3), st.integers(2**63 - 3, 2**70))


@given(st.lists(whole, max_size=6), grids)
def test_a_value_on_the_grid_survives_the_round_trip(steps, grid):
    values = [step * grid for step in steps]
    read = on_grid(values, grid)
    assert [int(step) for step in read] == steps
    assert [Fraction(value) for value in times_grid(read, grid).tolist()] == values


@given(st.fractions(min_value=-(10**6), max_value=10**6), grids)
def test_rounding_goes_to_the_nearest_step(value, grid):
    step = to_grid(value, grid)
    assert abs(step * grid - value) <= grid / 2


@given(st.fractions(), st.fractions(min_value=-100, max_value=100))
def test_rounding_moves_two_values_apart_by_at_most_one_step_more(value, gap):
    assert abs(to_grid(value, Fraction(1)) - to_grid(value + gap, Fraction(1))) <= abs(gap) + 1


@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=8))
def test_addition_is_that_of_python(pairs):
    left, right = (on_grid([pair[side] for pair in pairs], Fraction(1)) for side in (0, 1))
    total = add(left, right)
    assert [int(item) for item in total] == [a + b for a, b in pairs]
    assert (total.dtype == np.int64) == all(-(2**63) <= a + b < 2**63 for a, b in pairs)


@pytest.mark.parametrize("place", [None, 0, _CACHED - 1, _CACHED, 2 * _CACHED, 2 * _CACHED + 6])
def test_a_sum_that_needs_more_bits_is_seen_wherever_it_is(place):
    left = np.arange(2 * _CACHED + 7)
    right = left[::-1].copy()
    if place is not None:
        left[place], right[place] = 2**63 - 1, 1
    expected = [int(a) + int(b) for a, b in zip(left, right, strict=True)]
    total = add(left, right)
    assert total.tolist() == expected
    assert (total.dtype == np.int64) == (place is None)


@given(st.lists(whole, max_size=5), whole)
def test_a_shift_moves_every_number(items, by):
    assert [int(item) for item in shift(on_grid(items, Fraction(1)), by)] == [item + by for item in items]
    assert [shift(item, by) for item in items] == [item + by for item in items]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_every_integer_array_keeps_its_values(dtype):
    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    assert [int(item) for item in on_grid(np.array(ends, dtype), Fraction(1))] == ends
    assert [int(item) for item in on_grid(np.array(ends, dtype), Fraction(1, 2))] == [2 * end for end in ends]
