"""Smoothing far wider than 1, orders on a grid that is computed as far as needed, total variation in both orders."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import special

from dither.accounting import PLD
from dither.accounting.pld import curve
from dither.accounting.pld.closed_forms import TwoPoint
from dither.accounting.pld.grid import GRID, Grid
from dither.accounting.pld.line import Line
from dither.accounting.pld.response_tails import binomial_delta
from dither.accounting.pld.sums import Sum

ONE = Fraction(1)


def normal(x):
    return special.ndtr(x)


@pytest.mark.parametrize(
    ("s", "z"),
    [(0.05, 0.3), (0.05, 2 + 1.5j), (1, 0.3), (1, 2 + 1.5j), (1, 0.05 + 0.4j), (6, 0.03), (6, 0.05 + 0.1j)],
)
def test_the_transform_of_the_lower_payoff(s, z):
    """(1 - e^-u) Phi((u - s^2/2)/s) has the transform that a line uses, and is nowhere above the payoff."""
    c = s * s / 2
    u = np.arange(-s * s - 12 * s, c + 40 * s + 40 / np.real(z), s / 20)
    payoff = -np.expm1(-u) * normal((u - c) / s)
    assert (payoff <= np.maximum(-np.expm1(-u), 0)).all()
    stated = np.exp(-z * c) * np.exp(s * s * z * z / 2) * (1 - z * np.expm1(s * s * z)) / (z * (z + 1))
    found = np.trapezoid(payoff * np.exp(-z * u), u)
    assert abs(found - stated) < 1e-9 * abs(stated)
    assert abs(np.trapezoid(np.maximum(payoff, 0) * np.exp(-z * u), u) - stated) > 1e-9 * abs(stated)


STEPS, PLACES = 2000, (800, 900, 950, 1000)


def coarse():
    """A line of 2,000 responses at epsilon 1 whose smoothing is several units wide."""
    return Line(Sum(((TwoPoint(ONE), STEPS),), 0.0), 0.05, 4000.0, 1024)


def test_a_wide_smoothing_keeps_the_curve_between_its_bounds():
    line = coarse()
    assert line.smooth > 2
    for place in PLACES:
        low, high = map(float, binomial_delta(ONE, STEPS, Fraction(place)))
        assert line.log_below(place) <= math.log(low)
        assert line.log_above(place) >= math.log(high)
        assert line.log_above(place) - line.log_below(place) < 2


def test_a_lower_payoff_that_asks_for_no_more_loss_is_caught():
    """Planted: the test is read as if it asked for a loss above epsilon itself."""
    line = coarse()
    wide, line.smooth = line.smooth, 0.0
    found = [line.log_below(place) > math.log(binomial_delta(ONE, STEPS, Fraction(place))[1]) for place in PLACES]
    assert any(found)
    line.smooth = wide
    assert not any(line.log_below(place) > math.log(binomial_delta(ONE, STEPS, Fraction(place))[1]) for place in PLACES)


@pytest.mark.parametrize(("sigma", "rate", "count"), [("0.3", "1e-5", 3), (1, "0.01", 10**5), (20, "0.5", 40)])
def test_a_grid_is_above_the_cumulant_everywhere(sigma, rate, count):
    losses = PLD.subsampled_gaussian(sigma, rate).sums()[0][0].distributions
    measure = Sum(((losses[0][0], count),), 0.0)
    grid = Grid(measure)
    for epsilon in (0.1, 20.0):
        values = grid.up_to(epsilon)
        known = np.isfinite(values)
        with np.errstate(all="ignore"):
            value, error = measure.cumulant(GRID[known])
        assert (values[known] >= value - error).all()
        assert (values[known] <= np.maximum(value + error, 1.1e-3)).all()
        # What was not computed is of no use: Markov's bound is far past its best there.
        last = int(np.flatnonzero(known)[-1])
        bound = values[known] - GRID[known] * epsilon
        assert last == len(GRID) - 1 or bound[-1] > bound.min() + 10 or bound[-1] < -1000


def variation_of_two(sigma, rate):
    """E[(w(X) w(Y) - 1)_+] of two standard normals: over Y in closed form, over X by the trapezoidal rule."""
    x = np.linspace(-9, 9 + 1 / sigma, 40001)
    w = 1 - rate + rate * np.exp(x / sigma - 1 / (2 * sigma**2))
    # w w(y) > 1 from this y on; for every y if the odds are not positive.
    odds = np.maximum((1 / w - 1 + rate) / rate, 1e-300)
    y = sigma * (np.log(odds) + 1 / (2 * sigma**2))
    excess = w * ((1 - rate) * normal(-y) + rate * normal(1 / sigma - y)) - normal(-y)
    return float(np.trapezoid(excess * np.exp(-x * x / 2) / math.sqrt(2 * math.pi), x))


@pytest.mark.parametrize(("sigma", "rate"), [("0.3", "1e-7"), ("0.5", "1e-4"), (1, "0.1")])
def test_total_variation_of_two_samples(sigma, rate):
    low, high = (PLD.subsampled_gaussian(sigma, rate) * 2).bounds_at(epsilon=0)
    truth = variation_of_two(float(sigma), float(rate))
    assert low * (1 - 1e-6) <= truth <= high * (1 + 1e-6)
    assert high - low <= 1e-3 * high


def worse_backward():
    """Three releases whose second order is the worse one, and its exact delta at 0.3."""
    p, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(9, 10), Fraction(1, 10))
    exact = 0.0
    for outcome in product(range(2), repeat=3):
        one, other = (math.prod(float(side[n]) for n in outcome) for side in (q, p))
        exact += max(0.0, one - math.exp(0.3) * other)
    curve._one_read_delta.cache_clear()
    return exact, (PLD.from_pmf(list(p), list(q), one_sided=True) * 3).bounds_at(epsilon=0.3)


def test_the_second_order_counts_where_it_is_worse():
    exact, (low, high) = worse_backward()
    assert low <= exact <= high
    assert high - low <= 1e-3 * high


def test_a_variation_that_is_too_small_is_caught(monkeypatch):
    """Planted: the total variation that saves reading the second order is not that of the losses."""
    monkeypatch.setattr(curve, "log_variation_read", lambda known: -25.0)
    exact, (_, high) = worse_backward()
    assert high < exact
