"""Worked examples: global sensitivities under both relations."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError
from dither.mechanisms import Laplace


def test_count():
    assert sensitivity.count("add_remove").l1 == sensitivity.count("replace").l1 == 1


def test_histogram():
    """1 or 2: each is right for its own relation."""
    added, replaced = sensitivity.histogram("add_remove"), sensitivity.histogram("replace")
    assert (added.l1, added.l2, added.linf) == (1, 1, 1)
    assert (replaced.l1, replaced.linf) == (2, 1)
    assert float(replaced.l2) == pytest.approx(1.4142135623730951, abs=1e-12)


def test_salary_sum():
    assert sensitivity.sum(10000, 100000, "add_remove").l1 == 100000
    assert sensitivity.sum(10000, 100000, "replace").l1 == 90000


def test_k_counts_and_the_chain_of_norms():
    k = sensitivity.counts(25)
    assert (k.l1, k.l2, k.linf) == (25, 5, 1)
    assert k.l2 <= k.l1 == Fraction(math.isqrt(25)) * k.l2


def test_no_range_no_sum():
    """Without declared bounds the sensitivity is infinite, and infinite bounds are refused."""
    with pytest.raises(ParameterError):
        sensitivity.sum(0, "inf")


def test_food_counts():
    rows = {
        "Frank": (1, 0, 1, 1, 1),
        "Tom": (0, 1, 0, 1, 1),
        "Jacky": (0, 0, 1, 0, 1),
        "Ross": (1, 1, 0, 0, 0),
        "Monica": (1, 1, 0, 1, 1),
    }
    counts = [sum(column) for column in zip(*rows.values(), strict=True)]
    assert counts == [3, 3, 2, 3, 4]
    five = sensitivity.counts(5)
    assert five.l1 == 5
    mechanism = Laplace(epsilon="0.1", sensitivity=five)
    assert mechanism.scale == 50
    assert mechanism.release(counts).value.shape == (5,)
