"""Chi-square tests of the samplers against exact probabilities, each with a power check: 3% off in scale is rejected.

False alarms: a test fails a correct sampler with probability below 1e-9. `DITHER_CAMPAIGN=100` multiplies the draws.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from dither import noise
from dither.exact.precision import precision
from dither.noise.integers.discrete_gaussian import many_by_rejection
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution
from dither.noise.integers.gaussian import RoundedGaussianDistribution
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.laplace import LaplaceDistribution
from dither.noise.integers.table import draw_from_table
from dither.noise.integers.tables import kept_table

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
# The chi-square tail is an approximation for counts; this leaves room below the promised 1e-9.
ALARM = 1e-11
OFF = Fraction(103, 100)


def law_below(law, k):
    """P[X <= k] as a float."""
    with precision(128):
        if k >= 0:
            return float(1 - law.tail(k))
        return float(law.tail(-k - 1)) if law.symmetric else 0.0


def bin_edges(law, scale, bins):
    """Values that cut the law into bins of roughly equal probability, by bisection of its distribution function."""
    reach = int(60 * scale) + 60
    edges = set()
    for i in range(1, bins):
        low, high = (-reach if law.symmetric else -1), reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if law_below(law, middle) < i / bins else (low, middle)
        edges.add(high)
    return sorted(edges)


def p_value(counts, probabilities):
    expected = counts.sum() * probabilities
    kept = expected > 50
    rest = np.array([counts[~kept].sum()]), np.array([expected[~kept].sum()])
    observed, expected = np.append(counts[kept], rest[0]), np.append(expected[kept], rest[1])
    possible = expected > 1
    assert counts.sum() > 1000
    if observed[~possible].sum() > 30:
        return 0.0
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    return chi2.sf(statistic, max(1, possible.sum() - 1))


def fit(draws, law, scale, bins=40):
    """The p-value of the draws under the law."""
    edges = bin_edges(law, scale, bins)
    below = np.array([law_below(law, k) for k in edges])
    probabilities = np.diff(below, prepend=0.0, append=1.0)
    # Object arrays of Python ints are sorted and counted as they are.
    positions = np.searchsorted(np.array(edges, draws.dtype), draws)
    return p_value(np.bincount(positions.astype(np.intp), minlength=probabilities.size), probabilities)


SAMPLERS = {
    "laplace": (noise.discrete_laplace, LaplaceDistribution),
    "gaussian": (noise.rounded_gaussian, RoundedGaussianDistribution),
    "geometric": (noise.geometric, GeometricDistribution),
}
SCALES = [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(355), Fraction(2000), Fraction(10**6), Fraction(1 << 40)]


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_draws_at_a_new_scale_have_the_law_and_a_scale_off_by_3_percent_does_not(name, scale):
    draw, law_of = SAMPLERS[name]
    count = 10**6 * CAMPAIGN
    assert fit(draw(scale, count, public=False), law_of(scale), scale) > ALARM
    assert fit(draw(scale * OFF, count, public=False), law_of(scale), scale) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(355)], ids=str)
def test_draws_at_a_scale_used_often_have_the_law_and_a_scale_off_by_3_percent_does_not(name, scale):
    _, law_of = SAMPLERS[name]
    count = 10**6 * CAMPAIGN
    assert fit(draw_from_table(kept_table(law_of(scale)), count), law_of(scale), scale) > ALARM
    assert fit(draw_from_table(kept_table(law_of(scale * OFF)), count), law_of(scale), scale) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_beyond_int64_arithmetic_have_the_law_and_a_scale_off_by_3_percent_does_not(name):
    draw, law_of = SAMPLERS[name]
    scale, count = Fraction(1 << 59), 400_000
    assert fit(draw(scale, count), law_of(scale), scale, bins=16) > ALARM
    assert fit(draw(scale * OFF, count), law_of(scale), scale, bins=16) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
def test_single_draws_have_the_law_and_a_scale_off_by_10_percent_does_not(name):
    draw, law_of = SAMPLERS[name]
    scale, count = Fraction(30), 30_000
    assert fit(np.array([draw(scale) for _ in range(count)]), law_of(scale), scale, bins=12) > ALARM
    off = np.array([draw(scale * Fraction(11, 10)) for _ in range(count)])
    assert fit(off, law_of(scale), scale, bins=12) < ALARM


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1), Fraction(20), Fraction(100), Fraction(10**6)], ids=str)
def test_discrete_gaussian_draws_have_the_law_and_a_scale_off_by_3_percent_does_not(sigma):
    count = 10**6 * CAMPAIGN
    # Beyond sigma = 40 the two Gaussian laws differ by less than any test could see.
    law = DiscreteGaussianDistribution(sigma**2) if sigma <= 40 else RoundedGaussianDistribution(sigma)
    assert fit(noise.discrete_gaussian(sigma**2, count), law, sigma) > ALARM
    assert fit(noise.discrete_gaussian((sigma * OFF) ** 2, count), law, sigma) < ALARM


def test_rejection_gives_the_discrete_gaussian_and_the_rounded_one_is_told_apart():
    law = DiscreteGaussianDistribution(Fraction(1))
    assert fit(many_by_rejection(Fraction(1), 40_000, public=False), law, 1) > ALARM
    assert fit(noise.rounded_gaussian(1, 10**6), law, 1) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(1 << 40), Fraction((1 << 56) + 1, 3)], ids=str)
def test_the_low_bits_of_wide_noise_are_uniform(name, scale):
    draw, _ = SAMPLERS[name]
    draws = draw(scale, 10**6)
    assert p_value(np.bincount(draws & 255, minlength=256), np.full(256, 1 / 256)) > ALARM
    # Power: noise on a coarser grid.
    assert p_value(np.bincount((draws & ~1) & 255, minlength=256), np.full(256, 1 / 256)) < ALARM


@pytest.mark.parametrize("x", [Fraction(1, 4), Fraction(1), Fraction(4)], ids=str)
def test_coins_have_their_probability_and_an_exponent_off_by_3_percent_does_not(x):
    def p(coins):
        heads = float(np.exp(-float(x)))
        return p_value(np.bincount(coins.astype(int), minlength=2), np.array([1 - heads, heads]))

    count = 4 * 10**6 * CAMPAIGN
    assert p(noise.bernoulli_exp(x, count)) > ALARM
    assert p(noise.bernoulli_exp(x * OFF, count)) < ALARM


@pytest.mark.parametrize("bound", [3, 10, 1000])
def test_integers_are_uniform_and_a_bound_off_by_3_percent_is_not(bound):
    def p(draws):
        return p_value(np.bincount(draws, minlength=bound + 30), np.array([1 / bound] * bound + [0.0] * 30))

    assert p(noise.uniform_below(bound, 10**6)) > ALARM
    shifted = noise.uniform_below(max(bound + 1, bound * 103 // 100), 10**6)
    assert p(np.where(shifted >= bound + 30, 0, shifted)) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
def test_neighbouring_draws_are_independent(name):
    draw, _ = SAMPLERS[name]
    draws = draw(Fraction(100), 10**6, public=False)
    pairs = 4 * (draws[:-1:2] > np.median(draws)) + 2 * (draws[1::2] > np.median(draws))
    counts = np.bincount(pairs // 2, minlength=4)
    share = counts.reshape(2, 2) / counts.sum()
    expected = np.outer(share.sum(1), share.sum(0)).ravel()
    assert p_value(counts, expected) > ALARM
    # Power: each draw equal to the one before in 4% of the cases.
    draws[1::2] = np.where(noise.uniform_below(25, draws[1::2].size) == 0, draws[:-1:2], draws[1::2])
    pairs = 4 * (draws[:-1:2] > np.median(draws)) + 2 * (draws[1::2] > np.median(draws))
    assert p_value(np.bincount(pairs // 2, minlength=4), expected) < ALARM
