"""Outputs of every kind as columns, the cells they are cut into, and events in words."""

from __future__ import annotations

import doctest
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import ParameterError
from dither.lab.audit import checking
from dither.lab.audit.cells import learn
from dither.lab.audit.columns import Column, read_outputs
from dither.lab.audit.events import Event
from dither.lab.audit.features import Feature, catalogue
from dither.lab.audit.neighbours import times


@pytest.mark.parametrize(
    ("drawn", "columns"),
    [
        (np.arange(3), ["output"]),
        (np.zeros((3, 2)), ["coordinate 0", "coordinate 1"]),
        ([1, 2.5, True], ["output"]),
        ([Fraction(1, 3), Decimal("0.1"), None], ["output"]),
        (["a", dt.REFUSED, None], ["output"]),
        ([(1, 2), (3,), (4, "x")], ["output", "coordinate 0", "coordinate 1", "length"]),
        ([{"a": 1}, {"b": 2}, {}], ["output", "at a", "at b"]),
        ([{"a"}, {"b"}, set()], ["output", "has a", "has b"]),
        ([np.array([1, 2])] * 3, ["output", "coordinate 0", "coordinate 1", "length"]),
        ([10**30, 10**31, 5], ["output"]),
    ],
)
def test_every_kind_of_output_is_read(drawn, columns):
    outputs = read_outputs(drawn, 3)
    assert list(outputs.columns) == columns
    assert len(outputs) == 3
    assert all(len(column) == 3 for column in outputs.columns.values())


def test_results_are_read_by_their_value():
    mechanism = dt.Laplace(epsilon=1, sensitivity=1)
    assert read_outputs([mechanism.release(5) for _ in range(4)], 4).columns["output"].values.dtype.kind == "i"


def test_labels_and_numbers_share_a_column():
    column = read_outputs([1.5, None, dt.REFUSED, float("nan")], 4).columns["output"]
    assert column.labels.tolist() == [None, "None", "REFUSED", "nan"]
    partition = learn(column, column)
    assert len(set(partition.cells(column).tolist())) == 4
    unseen = partition.cells(Column(np.array([np.nan]), np.array(["new"], dtype=object)))
    assert unseen.tolist() == [partition.size - 1]


@pytest.mark.parametrize("values", [np.arange(-50, 50).repeat(20), np.arange(-50, 50).repeat(20) / 7])
def test_repeated_values_have_cells_of_their_own(values):
    column = Column(values)
    cells = learn(column, column).cells(column)
    assert len(set(zip(values.tolist(), cells.tolist(), strict=True))) == 100
    assert len(set(cells.tolist())) == 100


def test_values_that_never_repeat_share_cells_of_about_equal_mass():
    column = Column(np.random.default_rng(1).normal(size=100_000))
    counts = learn(column, column).counts(column)
    assert counts.max() < 400
    assert 500 < len(counts) < 3000


def test_the_widest_numbers_are_placed_like_any_other():
    values = np.array([-(2**62), 0, 2**62] * 10)
    column = Column(values)
    assert len(set(learn(column, column).cells(column).tolist())) == 3
    infinite = Column(np.array([-np.inf, 0.0, np.inf] * 10))
    assert len(set(learn(infinite, infinite).cells(infinite).tolist())) == 3


def test_lowest_digits_and_fractions():
    outputs = read_outputs(np.array([0.0, 1.0, 0.75, 6.0, 2.0**-60, -0.5]), 6)
    ways = catalogue(outputs, outputs)
    digits = ways["lowest binary digit of output"](outputs, outputs).read(outputs).values
    assert digits.tolist() == [2000, 0, -2, 1, -60, -1]
    assert ways["fractional part of output"](outputs, outputs).read(outputs).values.tolist()[2:4] == [0.75, 0.0]


def test_events_are_said_in_words():
    column = Column(np.array([0, 1, 2, 3] * 10))
    partition = learn(column, column)
    feature = Feature("output", lambda outputs: outputs.columns["output"])
    chosen = np.zeros(partition.size, dtype=bool)
    chosen[partition.cells(Column(np.array([1, 2])))] = True
    event = Event(feature, partition, chosen)
    assert str(event) == "output in [1, 3)"
    assert event.holds(np.array([0, 1, 2, 3])).tolist() == [False, True, True, False]


def test_other_shapes_are_refused():
    for wrong in ("abc", 7, iter([1])):
        with pytest.raises(ParameterError):
            read_outputs(wrong, 3)


@pytest.mark.parametrize("module", [checking, times])
def test_docstring_examples(module):
    assert doctest.testmod(module).failed == 0
