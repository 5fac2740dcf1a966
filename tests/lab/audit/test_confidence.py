"""Clopper-Pearson bounds against the binomial law itself, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.lab.audit.confidence import at_least, at_most, roughly_at_least, roughly_at_most

ERRORS = (0.1, 1e-3, 1e-9)


def tail(trials: int, p: Fraction, least: int) -> Fraction:
    """P[Bin(trials, p) >= least], exactly."""
    return sum((math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(least, trials + 1)), Fraction(0))


@pytest.mark.parametrize("trials", [1, 2, 7, 40])
@pytest.mark.parametrize("error", ERRORS)
def test_bounds_are_on_the_safe_side_of_the_exact_ones_and_close_to_them(trials, error):
    for count in range(trials + 1):
        low, high = (Fraction(float(bound(count, trials, error)[0])) for bound in (at_least, at_most))
        if count:
            assert tail(trials, low, count) <= error
            assert tail(trials, low * Fraction(1 + 10**-7), count) > error
        else:
            assert low == 0
        if count < trials:
            assert 1 - tail(trials, high, count + 1) <= error
            assert 1 - tail(trials, high * Fraction(1 - 10**-7), count + 1) > error
        else:
            assert high == 1


@pytest.mark.parametrize("error", ERRORS)
def test_many_trials(error):
    trials = 5_000_000
    counts = np.array([1, 10, 1000, 10**5, 4_900_000])
    low, high = at_least(counts, trials, error), at_most(counts, trials, error)
    assert np.all(stats.binom.sf(counts - 1, trials, low) <= error)
    assert np.all(stats.binom.sf(counts - 1, trials, low) > error * (1 - 3e-2))
    assert np.all(stats.binom.cdf(counts, trials, high) <= error)
    assert np.all(stats.binom.cdf(counts, trials, high) > error * (1 - 3e-2))


def test_quick_bounds_are_near_the_exact_ones():
    trials, counts = 100_000, np.array([50, 500, 50_000, 99_990])
    error = float(stats.norm.sf(4.5))
    assert np.allclose(roughly_at_most(counts, trials, 4.5), at_most(counts, trials, error), rtol=0.15)
    assert np.allclose(roughly_at_least(counts, trials, 4.5), at_least(counts, trials, error), rtol=0.3)
    assert at_most(0, trials, error)[0] / 2 < roughly_at_most(np.array([0]), trials, 4.5)[0] < 1e-3
    assert roughly_at_least(np.array([0]), trials, 4.5)[0] == 0
