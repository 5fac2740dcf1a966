"""Sums told apart by the number of their large losses: together they are the whole sum, and none is forgotten."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import PLD
from dither.accounting.pld import curve, large_losses, reading
from dither.accounting.pld.large_losses import SomeLarge, by_number
from dither.accounting.pld.sums import Sum

RARE = PLD.from_pmf(
    ["0.001", "0.0001", "0.5", "0.4989"], ["0.000001", "0.00001", "0.5", "0.499989"], one_sided=True
).distributions[0][0]
NOISE = PLD.subsampled_gaussian("0.3", "0.001").distributions[0][0]
TIMES = np.linspace(0, 40, 200)
CASES = [
    (Sum(((RARE, 5),), 0.0), 1.0),
    (Sum(((RARE, 3), (NOISE.trimmed(-60.0), 4)), 0.25), 1.2),
    (Sum(((NOISE.trimmed(-60.0), 7),), 0.0), 0.8),
]


def added_up(measures, theta):
    """The transform on a line, and what it may be off, of all measures together."""
    total, doubt = np.zeros(len(TIMES), dtype=complex), np.zeros(len(TIMES))
    for measure in measures:
        log_m, wrong = measure.cumulant(np.array([theta]))
        value, bound, off = measure.product(theta, TIMES)
        assert (np.abs(value) <= bound * (1 + off)).all()
        total = total + math.exp(log_m[0]) * value
        doubt = doubt + math.exp(log_m[0]) * bound * (off + wrong[0] + 1e-15)
    return total, doubt


@pytest.mark.parametrize(("whole", "theta"), CASES)
def test_all_numbers_together_are_the_whole(whole, theta):
    small, some = by_number(whole, theta, -1e6)
    assert {number for measure in some for number in range(measure.least, measure.most + 1)} == set(
        range(1, sum(count for _, _, count in some[0].parts) + 1)
    )
    (found, off), (exact, wrong) = added_up([small, *some], theta), added_up([whole], theta)
    assert (np.abs(found - exact) <= off + wrong).all()
    assert off.max() < 1e-9 * abs(exact[0])


def test_a_number_that_is_forgotten_is_caught():
    """Planted: sums with two large losses are left out."""
    whole, theta = CASES[0]
    small, some = by_number(whole, theta, -1e6)
    (found, off), (exact, wrong) = added_up([small, some[0], *some[2:]], theta), added_up([whole], theta)
    assert not (np.abs(found - exact) <= off + wrong).all()


def test_the_mass_of_larger_numbers():
    """P[at least m of k] <= (k p)^m/m!, exactly for a few steps."""
    k, p = 5, Fraction(1, 1000)
    for m in range(1, k + 1):
        exact = sum(math.comb(k, n) * p**n * (1 - p) ** (k - n) for n in range(m, k + 1))
        measure = SomeLarge(Sum((), 0.0), (), m, m, math.log(k * p))
        assert math.log(exact) <= measure.log_mass


def test_numbers_that_are_left_out_are_counted_as_lost(monkeypatch):
    """Planted: all but no large loss is left out as if it had no mass; the upper bound then misses the truth."""
    guarantee = PLD.subsampled_gaussian("0.5", "1e-5") * 3
    truth = 0.0014306
    low, high = guarantee.bounds_at(delta="1e-6")
    assert truth * (1 - 5e-4) <= low <= high <= truth * (1 + 5e-4)

    def forgetful(losses, theta, log_left):
        found = large_losses.by_number(losses, theta, log_left)
        return None if found is None else (found[0], ())

    monkeypatch.setattr(reading, "by_number", forgetful)
    curve._one_read_epsilon.cache_clear()
    assert guarantee.bounds_at(delta="1e-6")[1] < truth * (1 - 1e-2)
    curve._one_read_epsilon.cache_clear()
