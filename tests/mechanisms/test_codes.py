"""Records as codes: every way of reading a column gives the exactly rounded and clamped code."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.mechanisms.codes import Grid, column_codes, plain_column

STEPS = [Fraction(1), Fraction(1, 100), Fraction(1, 1024), Fraction(7), Fraction(1, 3), Fraction(2**40)]


def by_definition(value, grid):
    if math.isinf(value):
        return grid.last if value > 0 else grid.first
    return min(max(math.floor(Fraction(value) / grid.step + Fraction(1, 2)), grid.first), grid.last)


def codes(column, grid):
    return column_codes(plain_column(column), grid)[0].tolist()


@given(
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=5),
    st.sampled_from(STEPS),
    st.sampled_from([(-1000, 1000), (0, 10**12), (-3, Fraction(1, 7)), (Fraction(10**17), Fraction(10**18))]),
)
@settings(max_examples=200, deadline=None)
def test_floats(values, step, bounds):
    if math.ceil(bounds[0] / step) > math.floor(bounds[1] / step) or bounds[1] / step >= 2**61:
        return
    grid = Grid.within(*bounds, step)
    near = [value for code in (grid.first, grid.last) for value in (float(code * step), float((code + 0.5) * step))]
    near += [math.nextafter(value, math.inf) for value in near] + [0.005, 0.015, 0.025, 1.005, 3.5, 1 / 3, 1 / 6]
    values = [*values, *near]
    assert codes(np.array(values), grid) == [by_definition(value, grid) for value in values]
    assert codes(values, grid) == codes(np.array(values), grid)
    small = np.array([value for value in values if abs(value) < 1e30], np.float32)
    assert codes(small, grid) == [by_definition(value, grid) for value in small.tolist()]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.sampled_from(STEPS))
@settings(max_examples=150, deadline=None)
def test_integers(values, step):
    for low, high in ((-1000, 1000), (0, 2**57), (-(2**63), -(2**62))):
        if high / step >= 2**61 or low / step < -(2**61):
            continue
        grid = Grid.within(low, high, step)
        expected = [by_definition(value, grid) for value in values]
        assert codes(np.array(values), grid) == codes(values, grid) == expected
        assert codes([Fraction(value) for value in values], grid) == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int32])
def test_narrow_and_unsigned_integers(dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.min + 1, 0, 5, info.max]
    for low, high in ((0, 100), (-1000, -500), (10**4, 10**9), (-(10**18), 10**18)):
        grid = Grid.within(low, high, 1)
        assert codes(np.array(values, dtype), grid) == [by_definition(value, grid) for value in values]


def test_other_kinds_of_column():
    grid = Grid.within(0, 10, "0.5")
    expected = [2, 5, 0, 20]
    for column in (
        pa.array([1, 2.5, None, 99]),
        pd.Series([1, 2.5, None, 99]),
        pl.Series([1.0, 2.5, None, 99.0]),
        [1, Decimal("2.5"), None, 99],
        (1, Fraction(5, 2), "x", 10**400),
        np.ma.array([1, 2.5, 7, 99], mask=[0, 0, 1, 0]),
        [Decimal(1), Decimal("2.5"), Decimal("nan"), Decimal("1e999999")],
    ):
        found, missing = column_codes(plain_column(column), grid)
        assert found.tolist() == expected
        assert missing.tolist() == [False, False, True, False]
    assert codes(np.array([True, False]), grid) == [2, 0]
