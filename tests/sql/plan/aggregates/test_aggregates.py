"""From noisy measures to shown values: exact for counts and sums, an interval that cannot miss for averages."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import ParameterError
from dither.sql.expressions import Add, Clamp, Constant, Rescale, Stored, Subtract
from dither.sql.plan.aggregates import Average, Count, CountDistinctOwner, Sum
from dither.sql.plan.nodes import CountRows, SumRows
from dither.sql.plan.question import Output
from dither.sql.postprocess.measure_errors import MeasureError

AGE = Stored("age", 0, 120, 0, False)
COST = Stored("cost", -500, 100_001, 2, True)


def noise(*widths):
    return [MeasureError(Fraction(width)) for width in widths]


def test_count_is_shown_as_released():
    column = Output("n", Count()).finish([np.array([3, -2])], [MeasureError(Fraction(7, 2))])
    assert (column.name, column.values.tolist(), column.decimals, column.half_width) == (
        "n",
        [3, -2],
        0,
        Fraction(7, 2),
    )
    owners = CountDistinctOwner().finish([np.array([3])], [MeasureError(Fraction(1))])
    assert (owners.values.tolist(), owners.half_width) == ([3], 1)


def test_sum_keeps_its_decimals_exactly_beyond_64_bits():
    huge = np.array([2**90 + 1, -1], dtype=object)
    column = Sum(COST).finish([huge], [MeasureError(Fraction(250))])
    assert column.values.tolist() == [2**90 + 1, -1]
    assert (column.decimals, column.half_width) == (2, Fraction(5, 2))


def test_stored_columns_are_summed_as_they_are_and_computed_values_clamped_last():
    assert Sum(AGE).measures() == (SumRows(AGE),)
    value = Add(Rescale(AGE, 2), COST)
    assert Sum(value).measures() == (SumRows(Clamp(value, -500, 112_001)),)


def test_average_is_measured_around_the_middle():
    assert Average(AGE).measures() == (SumRows(Clamp(Subtract(AGE, Constant(60)), -60, 60)), CountRows())
    total, present = Average(COST).measures()
    assert Average(COST).middle == 49_750
    assert total == SumRows(Clamp(Subtract(COST, Constant(49_750, 2)), -50_250, 50_251))
    assert present != CountRows()
    assert Average(AGE).confidence_split == 2
    assert Count().confidence_split == 1


def test_average_of_exact_measures_is_the_average():
    column = Average(AGE).finish([np.array([-200]), np.array([10])], noise(0, 0))
    assert column.values.tolist() == [40.0]
    assert column.lower[0] <= 40 <= column.upper[0]
    assert column.upper[0] - column.lower[0] < 1e-10


def test_average_of_an_empty_group_is_the_middle_with_the_whole_range_around_it():
    column = Average(AGE).finish([np.array([0, 10**6]), np.array([0, -5])], noise(100, 3))
    assert column.values.tolist() == [60.0, 120.0]
    assert column.lower.tolist() == [0, 0]
    assert column.upper.tolist() == [120, 120]


@given(
    st.lists(st.integers(-500, 100_001), min_size=1, max_size=50),
    st.integers(-3000, 3000),
    st.integers(-9, 9),
)
def test_the_true_average_lies_in_the_interval_whenever_the_noise_does(values, sum_noise, count_noise):
    total = sum(value - 49_750 for value in values) + sum_noise
    column = Average(COST).finish([np.array([total]), np.array([len(values) + count_noise])], noise(3000, 9))
    truth = sum(values) / (len(values) * 100)  # as a float64, like the declared bounds an interval may end at
    assert column.lower[0] <= truth <= column.upper[0]
    assert -5 <= column.values[0] <= 1000.01
    assert column.lower[0] <= column.values[0] <= column.upper[0]


@given(st.integers(1, 10**6), st.integers(0, 10**5), st.integers(0, 50), st.data())
def test_expected_error_of_an_average_bounds_the_real_one(rows, e_sum, e_count, data):
    a, b = data.draw(st.integers(-e_sum, e_sum)), data.draw(st.integers(-e_count, e_count))
    exact = data.draw(st.integers(-60 * rows, 60 * rows))
    value = 60 + Fraction(exact + a, max(rows + b, 1))
    clamped = min(max(value, Fraction(0)), Fraction(120))
    wide = Average(AGE).half_width_at(rows, [Fraction(e_sum), Fraction(e_count)])
    assert abs(clamped - (60 + Fraction(exact, rows))) <= wide


def test_the_wrong_number_of_measures_is_refused():
    for aggregate in (Count(), Sum(AGE), CountDistinctOwner(), Average(AGE)):
        with pytest.raises(ParameterError):
            aggregate.finish([np.array([1])] * 3, noise(1, 1, 1))
