"""Readings that once failed, said nothing or took seconds, and what is read in new ways."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dither.accounting import GDP, PLD, ApproxDP, PureDP, calibrate, compose
from dither.accounting.pld import curve, work
from dither.errors import ParameterError, WideBounds

sampled = PLD.subsampled_gaussian


@pytest.mark.parametrize(("sigma", "rate", "count"), [(6, "0.001", 100), (8, "0.001", 30), (10, "0.01", 30)])
def test_a_delta_below_all_floats(sigma, rate, count):
    assert 0 < (sampled(sigma, rate) * count).delta_at(1) <= 1e-300


def test_rare_large_losses():
    low, high = (sampled("0.3", "1e-5") * 20000).bounds_at(delta="1e-9")
    assert 13.0713 <= low <= 13.072 <= high <= 13.0727
    noise = calibrate(lambda sigma: sampled(sigma, "1e-5"), ApproxDP(1, "1e-9"), 20000).noise
    assert (sampled(noise, "1e-5") * 20000).epsilon_at("1e-9") <= 1


@pytest.mark.filterwarnings("ignore::dither.errors.WideBounds")
def test_no_more_than_the_chance_to_be_sampled():
    assert (sampled("0.3", "1e-7") * 2).delta_at(0) <= 2e-7
    assert (sampled(1, "1e-7") * 10).epsilon_at("1e-6") == 0


def exact_renyi(sigma, rate, order):
    """The binomial sum of whole orders, at 300 bits."""
    before = ctx.prec
    ctx.prec = 300
    try:
        q = arb(Fraction(rate).numerator) / Fraction(rate).denominator
        terms = (
            math.comb(order, k) * (1 - q) ** (order - k) * q**k * (arb(k * (k - 1)) / (2 * sigma * sigma)).exp()
            for k in range(order + 1)
        )
        return float(sum(terms, arb(0)).log() / (order - 1))
    finally:
        ctx.prec = before


@pytest.mark.parametrize(("sigma", "rate", "orders"), [(1, "0.01", (2, 30, 64, 300)), (100, "1e-6", (2, 30, 1000))])
def test_renyi_divergences_of_sampled_noise(sigma, rate, orders):
    for order in orders:
        assert exact_renyi(sigma, rate, order) <= sampled(sigma, rate).renyi(order) * (1 + 1e-12)
        assert sampled(sigma, rate).renyi(order) <= exact_renyi(sigma, rate, order) * (1 + 1e-5)


def test_renyi_divergences_of_tiny_losses():
    assert PLD.laplace("1e-9").renyi(2) == pytest.approx(1e-18, rel=1e-6)
    assert PLD.discrete_laplace("1e-9", 5).renyi(2) == pytest.approx(1e-18, rel=1e-6)
    assert PLD.laplace(1).renyi(2) == pytest.approx(math.log(2 / 3 * math.e + 1 / 3 * math.exp(-2)), rel=1e-9)


def test_very_small_deltas():
    low, high = (sampled(1, "0.01") * 100).bounds_at(delta="1e-300")
    assert 79 < low <= high <= low * 1.001


@pytest.mark.parametrize(
    "ask",
    [
        lambda: (sampled("0.3", "0.5") * 20000).bounds_at(epsilon="0.01"),
        lambda: (sampled("0.6", "1e-7") * 1000).bounds_at(epsilon="0.01"),
        lambda: (sampled("0.3", "1e-5") * 2).bounds_at(epsilon="0.01"),
        lambda: compose([GDP(386) * 75, PureDP("0.00558") * 4, sampled(836, "0.0379") * 37]).bounds_at(epsilon=1),
    ],
)
def test_within_the_budget_of_work(ask):
    low, high = ask()
    assert high - low <= 1e-3 * high


def test_a_reading_that_runs_out_says_so(monkeypatch):
    monkeypatch.setattr(work, "MOST", 10**5)
    curve._one_read_delta.cache_clear()
    try:
        with pytest.warns(WideBounds, match="takes more work"):
            low, high = (sampled("0.61", "1e-5") * 321).privacy_loss().bounds_at(epsilon="0.02")
    finally:
        curve._one_read_delta.cache_clear()
    assert 0 <= low < high <= 321e-5


def test_many_places_at_once():
    for guarantee in (sampled(1, "0.02") * 50, PureDP("0.1") * 20, GDP(1), ApproxDP(1, "1e-6")):
        many = guarantee.delta_at([0, "0.5", 1.5])
        assert isinstance(many, np.ndarray)
        assert many == pytest.approx([guarantee.delta_at(epsilon) for epsilon in (0, "0.5", 1.5)], rel=1e-3)
        several = guarantee.epsilon_at(np.array([1e-5, 1e-3]))
        assert several == pytest.approx([guarantee.epsilon_at(delta) for delta in (1e-5, 1e-3)], rel=1e-3)
    with pytest.raises(ParameterError):
        GDP(1).delta_at([-1])


def test_a_line_that_does_not_reach_a_place_says_nothing_there():
    """The line of the first delta leaves out more than the second one allows."""
    guarantee = sampled(1, "0.01") * 10
    for deltas in (["1e-5", "1e-6"], ["1e-6", "1e-5"], ["1e-4", "1e-8", "1e-20", "1e-5"]):
        alone = [guarantee.epsilon_at(delta) for delta in deltas]
        assert guarantee.epsilon_at(deltas) == pytest.approx(alone, rel=1e-3)


def sampled_laplace_delta(epsilon, rate, at):
    """Both orders, from densities on a fine grid and the two atoms."""
    u = np.linspace(-epsilon, epsilon, 200_001)
    weights = np.exp(-(u + epsilon) / 2) / 4 * (u[1] - u[0])
    weights[[0, -1]] = weights[[0, -1]] / 2 + np.array([0.5, math.exp(-epsilon) / 2])
    mixed = 1 - rate + rate * np.exp(u)
    removed = np.maximum(mixed - math.exp(at), 0) @ weights
    return max(removed, np.maximum(1 - math.exp(at) * mixed, 0) @ weights), removed


def test_sampled_laplace():
    for epsilon, rate, at in ((1, "0.1", 0.02), (3, "0.5", 0.2), (5, "1e-4", 0), ("0.5", "0.01", 0.001)):
        truth, removed = sampled_laplace_delta(float(epsilon), float(rate), at)
        low, high = PLD.subsampled_laplace(epsilon, rate).bounds_at(epsilon=at)
        assert low * (1 - 1e-6) <= truth <= high * (1 + 1e-6)
        # One replaced record: for epsilon >= 0 the curve is that of a removed one.
        low, high = PLD.subsampled_laplace(epsilon, rate, "replace").bounds_at(epsilon=at)
        assert low * (1 - 1e-6) <= removed <= high * (1 + 1e-6)
    assert PLD.subsampled_laplace(1, 1) == PLD.laplace(1)


def test_replaced_records_of_a_sample():
    """Against the profile itself, as a pair of discrete distributions that has it."""
    sigma, rate = 1, 0.1
    edges = np.linspace(-5, 6, 1101)
    normal = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in edges])
    moved = np.array([math.erfc(-(x - 1) / math.sqrt(2)) / 2 for x in edges])
    base, shifted = np.diff(normal), np.diff(moved)
    likelier = shifted > base
    mixed = (1 - rate) * base + rate * shifted
    # Above 0 mixture against noise; below 0 its mirror image; the rest says nothing.
    p = np.concatenate([mixed[likelier], base[likelier], [0]])
    q = np.concatenate([base[likelier], mixed[likelier], [0]])
    p[-1] = q[-1] = 1 - p.sum()
    for epsilon in (0.0, 0.05, 0.3):
        # Two releases, by all pairs of outcomes.
        losses = np.add.outer(np.log(p / q), np.log(p / q))
        truth = float((np.multiply.outer(p, p) * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        low, high = (sampled(sigma, Fraction(1, 10), "replace") * 2).bounds_at(epsilon=epsilon)
        assert truth <= high * (1 + 1e-6)  # merged outcomes say less
        assert truth >= low * (1 - 1e-3)
    with pytest.raises(ParameterError, match="replace"):
        sampled(1, "0.1", "edge")


def test_floats_of_a_pmf_are_read_outward():
    weights = np.exp(-(np.arange(-40, 41) ** 2) / 18.0)
    p = weights / weights.sum()
    low, high = PLD.from_pmf(p, np.roll(p, 1)).bounds_at(epsilon=1)
    truth = float(np.maximum(p - math.e * np.roll(p, 1), 0).sum())
    assert low <= truth * (1 + 1e-12)
    assert truth <= high <= truth * 1.001 + 1e-14
    # What rounding may hide is lost: no epsilon covers it.
    assert PLD.from_pmf(p, np.roll(p, 1)).epsilon_at("1e-20") == math.inf
    with pytest.raises(ParameterError, match="but for rounding"):
        PLD.from_pmf([0.5, 0.4], [0.5, 0.5])


def test_the_discrete_gaussian_is_not_the_continuous_one():
    """Its delta is 1.54 times that of N(0, 1) at epsilon 3.25."""
    assert PLD.discrete_gaussian(1).delta_at("3.25") / GDP(1).delta_at("3.25") == pytest.approx(1.54, abs=0.01)
    assert PLD.discrete_gaussian(3, 2).zcdp().rho == Fraction(2, 9)
    assert sampled(2, "0.01").zcdp().rho == Fraction(1, 8)
    with pytest.raises(ParameterError, match="ZCDP"):
        PLD.discrete_gaussian(2000)
