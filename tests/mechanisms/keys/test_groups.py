"""Groups by their keys, and values chosen in them: nothing that the data hold makes a choice fail."""

from __future__ import annotations

import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import ParameterError
from dither.mechanisms import Exponential, Quantile
from dither.mechanisms.keys.groups import _places, choose_values, seal_histogram

TEXT, NUMBER = st.sampled_from(["", "a", "b", None]), st.sampled_from([0, 1, -7, None])
KEYS = st.lists(st.tuples(TEXT, NUMBER, NUMBER), max_size=25)


def columns(rows, width, types):
    return [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types[:width])]


@given(KEYS, KEYS, st.integers(1, 3))
def test_places_among_the_shown_keys(rows, shown, width):
    rows = [row[:width] for row in rows]
    shown = list(dict.fromkeys(row[:width] for row in shown))
    found = _places(
        columns(rows, width, [pa.string(), pa.int64(), pa.int64()]),
        columns(shown, width, [pa.string(), pa.int64(), pa.int16()]),
    )
    assert found.tolist() == [shown.index(row) if row in shown else -1 for row in rows]


def test_keys_with_many_values_each():
    """The product of the numbers of values is beyond 64 bits."""
    generator = np.random.default_rng(3)
    keys = [generator.permutation(70_000) for _ in range(5)]
    shown = generator.permutation(70_000)[:60_000]
    found = _places([pa.array(key) for key in keys], [pa.array(key[shown]) for key in keys])
    expected = np.full(70_000, -1)
    expected[shown] = np.arange(60_000)
    assert (found == expected).all()


# Choices

HOSTILE = {
    "nothing": [],
    "one value": [(1, 5, 1)],
    "all in one code": [(0, 5, 10**6)],
    "huge counts": [(0, 5, 10**12), (0, 6, 10**12 + 1), (1, 2**39, 2**62), (1, 7, 2**62), (2, 0, 2**63 - 1)],
    "counts beyond words": [(0, 5, 10**400), (1, 5, -(10**400)), (2, 6, 2**64)],
    "codes out of range": [(0, -(2**63), 3), (1, 2**63 - 1, 4), (2, 2**70, 5), (2, -(10**50), 5)],
    "places of no group": [(-1, 5, 3), (3, 5, 3), (99, 5, 3)],
    "sizes far apart": [(0, 1, 1), *((1, code, 1 + code % 7) for code in range(5000)), (2, 3, 10**9)],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("high", [0, 1, 9, 2**40 - 1, 2**61 - 1])
def test_nothing_raises_whatever_the_lines(name, high):
    lines = HOSTILE[name]
    wide = any(abs(number) >= 2**63 for line in lines for number in line)
    places, codes, counts = np.array(lines, object if wide else np.int64).reshape(-1, 3).T
    sealed = seal_histogram([], places.astype(np.int64), codes, counts)
    for low, epsilon in itertools.product((0, -(2**61)), ("1e-290", "0.01", 1, 10**6, "1e290")):
        mechanisms = [Exponential(epsilon=epsilon, sensitivity=1), Exponential(epsilon=epsilon, sensitivity=10**12)]
        if low < high:
            for q in ("0.5", "0.99", "1e-290", "0.123456789123456789"):
                mechanisms.append(Quantile(epsilon=epsilon, q=q, lower=low, upper=high))
        for mechanism in mechanisms:
            found = choose_values(sealed, mechanism, 3, low, high)
            assert found.dtype == np.int64
            assert found.size == 3
            assert ((found >= low) & (found <= high)).all()


def test_large_counts_decide():
    """A price at which nothing else can win, and codes that are clamped to the ends."""
    sealed = seal_histogram([], np.array([0, 0, 1, 1, 2]), np.array([7, 8, -50, 3, 10**9]), np.array([9, 8, 9, 8, 1]))
    assert choose_values(sealed, Exponential(epsilon=900, sensitivity=1), 3, 2, 20).tolist() == [7, 2, 20]
    median = Quantile(epsilon=900, q="0.5", lower=2, upper=20)
    assert choose_values(sealed, median, 3, 2, 20).tolist() == [7, 2, 20]


def test_no_group_has_no_choice():
    empty = seal_histogram([], *np.zeros((3, 0), np.int64))
    assert choose_values(empty, Exponential(epsilon=1, sensitivity=1), 0, 0, 5).size == 0


def test_a_group_too_large_to_be_taken_with_others():
    size = 70_000
    places = np.concatenate([[0], np.full(size, 1), [2]])
    codes = np.concatenate([[4], np.arange(size), [9]])
    sealed = seal_histogram([], places, codes, np.full(size + 2, 10**6))
    quantile = Quantile(epsilon=10, q="0.2500001", lower=0, upper=size - 1)
    assert choose_values(sealed, quantile, 3, 0, size - 1).tolist() == [4, 17_500, 9]
    assert choose_values(sealed, Exponential(epsilon=1, sensitivity=1), 3, 0, size - 1).tolist()[::2] == [4, 9]


def test_a_quantile_of_other_codes_is_refused():
    empty = seal_histogram([], *np.zeros((3, 0), np.int64))
    for mechanism in (
        Quantile(epsilon=1, q="0.5", lower=0, upper=6),
        Quantile(epsilon=1, q="0.5", lower=0, upper=5, grid=Fraction(1, 2)),
    ):
        with pytest.raises(ParameterError, match="from the lowest to the highest"):
            choose_values(empty, mechanism, 1, 0, 5)


@pytest.mark.parametrize("domain", [1000, 2**40])
def test_memory_follows_the_histogram_and_not_the_domain(domain):
    """Three times the lines and their groups, and a constant for the groups that are taken together."""
    groups, size = 100_000, 300_000
    generator = np.random.default_rng(5)
    lines = [generator.integers(0, groups, size), generator.integers(0, domain, size), np.ones(size, np.int64)]
    sealed = seal_histogram([], *lines)
    for mechanism in (
        Exponential(epsilon=1, sensitivity=1),
        Quantile(epsilon=1, q="0.5", lower=0, upper=domain - 1),
    ):
        choose_values(sealed, mechanism, groups, 0, domain - 1)
        tracemalloc.start()
        choose_values(sealed, mechanism, groups, 0, domain - 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * (24 * size + 24 * groups) + 40 * 2**20
