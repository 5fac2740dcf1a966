"""Every record has a defined value, whatever it is; only parameters and types raise."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from dither import sensitivity
from dither.errors import ParameterError
from dither.sensitivity.columns import records
from dither.sensitivity.columns.records import Records

STRANGE = [
    (math.nan, 2),
    (None, 2),
    ("7", 2),
    (object(), 2),
    ([7], 2),
    (1j, 2),
    (Decimal("NaN"), 2),
    (np.datetime64("2020-01-01"), 2),
    (math.inf, 9),
    (-math.inf, 2),
    (10**400, 9),
    (-(10**400), 2),
    (Decimal("1e999999"), 9),
    (Decimal("-1e999999"), 2),
    (Decimal("1e-999999"), 2),
    (Decimal("Infinity"), 9),
    (Decimal("2.5"), Fraction(5, 2)),
    (Fraction(7, 3), Fraction(7, 3)),
    (np.float32(2.5), Fraction(5, 2)),
    (np.int8(-3), 2),
    (True, 2),
    (1.7976931348623157e308, 9),
    (5e-324, 2),
    (0.1 + 5, Fraction(0.1 + 5)),
]


@pytest.mark.parametrize(("record", "value"), STRANGE, ids=lambda case: type(case).__name__)
def test_one_record(record, value):
    assert Records([record], 2, 9).rank(1) == value
    assert Records(np.array([record, None], dtype=object), 2, 9).ranks(1, 2) == sorted([Fraction(value), 2])


@pytest.mark.parametrize(("record", "value"), STRANGE, ids=lambda case: type(case).__name__)
def test_a_strange_record_is_one_record(record, value):
    """The other records keep their values and the answer is that of the value it stands for."""
    others = [3, 5, 6, 8]
    for rank in range(1, 6):
        statistic = sensitivity.order_statistic(rank)
        assert statistic.value([*others, record], 2, 9) == sorted([*others, value])[rank - 1]
        assert statistic.smooth([*others, record], 1, 2, 9) == statistic.smooth([*others, value], 1, 2, 9)


def test_nan_in_arrays_is_the_lower_bound():
    x = np.array([5.0, np.nan, 7.0, np.inf, -np.inf, np.nan])
    assert Records(x, 2, 9).ranks(-1, 8) == [2, 2, 2, 2, 2, 5, 7, 9, 9, 9]
    assert Records(np.full(3, np.nan), 2, 9).ranks(0, 4) == [2, 2, 2, 2, 9]
    listed = Records(x.tolist(), 2, 9)
    for first in range(-2, 8):
        for last in range(first, 10):
            assert Records(x, 2, 9).ranks(first, last) == listed.ranks(first, last)


@pytest.mark.parametrize("margin", [0, 10, 4096])
def test_ranks_in_any_order_of_asking(margin, monkeypatch):
    monkeypatch.setattr(records, "_MARGIN", margin)
    rng = np.random.default_rng(3)
    x = rng.integers(0, 50, 2000)
    ordered = [Fraction(v) for v in sorted(x.tolist())]
    for _ in range(30):
        column = Records(x, 0, 50)
        for first in rng.integers(1, 2000, 6).tolist():
            last = min(2000, first + int(rng.integers(0, 60)))
            assert column.ranks(first, last) == ordered[first - 1 : last]


def test_columns_from_elsewhere():
    values = [3, None, 2**60 + 1, 5]
    expected = Records(values, 0, 2**62).ranks(1, 4)
    assert expected == [0, 3, 5, 2**60 + 1]
    for column in (
        pyarrow.array(values),
        pyarrow.chunked_array([values[:2], values[2:]]),
        pandas.Series(values, dtype="Int64"),
        polars.Series(values),
        np.ma.MaskedArray([3, 99, 2**60 + 1, 5], mask=[False, True, False, False]),
        tuple(values),
    ):
        assert Records(column, 0, 2**62).ranks(1, 4) == expected, type(column)
    for column in (
        pyarrow.array([1.5, 2.5]),
        pandas.Series([1.5, 2.5]),
        polars.Series([1.5, 2.5]),
        np.array([1.5, 2.5]),
    ):
        assert Records(column, 0, 9).ranks(1, 2) == [1.5, 2.5]
    assert Records(np.array([True, False, True]), 0, 1).ranks(1, 3) == [0, 1, 1]
    assert Records(range(3), 0, 9).ranks(1, 3) == [0, 1, 2]


def test_what_is_no_column_is_refused_by_its_type():
    wrong = ("abc", b"abc", 5, None, {1: 2}, np.array(["a"]), np.array([[1]]), np.array(1), np.array([1j]))
    for column in (*wrong, np.array(["2020"], dtype="datetime64[Y]"), np.array([1], dtype=np.longdouble)):
        with pytest.raises(ParameterError, match="column"):
            Records(column, 0, 9)


def test_empty_is_refused_and_one_is_enough():
    for empty in ([], np.zeros(0), np.zeros(0, dtype=int)):
        with pytest.raises(ParameterError, match="empty"):
            sensitivity.median.smooth(empty, 1, 0, 9)
    assert sensitivity.median.local([4], 0, 9) == 5
    assert sensitivity.median.value([4], 0, 9) == 4


COLUMNS = {
    "floats": np.array([0.1, -5.5, 1e300, np.nan, 3, -np.inf, 2.0**-1074, 9.75, np.inf, 0.3, -0.0]),
    "halves": np.array([0.1, 7.5, np.nan, 2.25], np.float16),
    "words": np.array([2**63 - 1, -(2**63), 5, 7, -3]),
    "unsigned": np.array([2**64 - 1, 2**63, 1, 9], np.uint64),
    "bytes": np.array([200, 3, 9], np.uint8),
    "truths": np.array([True, False, True]),
    "list": [0.1, None, "x", Fraction(1, 3), Decimal("2.5"), 10**400, 4],
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("bounds", [(0, 10), (Fraction(-1, 3), 2**63), (-(2**70), 2**70), (50, 60)])
def test_totals_are_exact(name, bounds):
    column = COLUMNS[name]
    records = Records(column, *bounds)
    for first in range(1, records.size + 1):
        for last in range(first, records.size + 1):
            assert records.total(first, last) == sum(Records(column, *bounds).ranks(first, last))


def test_totals_of_many_records_do_not_overflow():
    assert Records(np.full(10**5, 2**63 - 1), 0, 2**63).total(1, 10**5) == 10**5 * (2**63 - 1)
    tenth = Fraction(0.1)
    assert Records(np.full(10**5, 0.1), 0, 1).total(3, 10**5) == (10**5 - 2) * tenth
