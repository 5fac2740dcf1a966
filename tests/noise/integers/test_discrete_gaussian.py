"""The discrete Gaussian: sums with proven remainders, and rejection with the right chance."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact.balls import ball
from dither.exact.precision import precision
from dither.noise import discrete_gaussian
from dither.noise.integers.discrete_gaussian import (
    acceptance,
    accepts,
    many_by_rejection,
    proposal_sigma,
    surely_accepted,
)
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution, remainder
from dither.noise.integers.gaussian import RoundedGaussianDistribution
from dither.noise.lazy_uniform import LazyUniform

VARIANCES = [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(100)]


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("bits", [64, 300])
def test_tails_are_sums_of_weights(variance, bits):
    law = DiscreteGaussianDistribution(variance)
    reach = 200
    with precision(2000):
        weights = [(ball(-x * x) / (2 * ball(variance))).exp() for x in range(2 * reach)]
        total = weights[0] + 2 * sum(weights[1:], ball(0))
        exact = [sum(weights[k + 1 :], ball(0)) / total for k in range(0, 60, 3)]
    with precision(bits):
        for k, sum_above in zip(range(0, 60, 3), exact, strict=True):
            tail = law.tail(k)
            assert tail.overlaps(sum_above)
            assert tail > 0
            assert tail.rel_accuracy_bits() > bits // 3


@pytest.mark.parametrize("variance", VARIANCES)
def test_remainders_contain_the_sums_they_stand_for(variance):
    with precision(200):
        for x in (1, 3, 20):
            weights = [(ball(-y * y) / (2 * ball(variance))).exp() for y in range(x, x + 400)]
            left = remainder(variance, x)
            assert left.contains(sum(weights, ball(0)))
            assert left.contains(ball(0))


def masses(variance, k):
    """(target, proposed) of k, as balls; the target not normalised."""
    law = RoundedGaussianDistribution(proposal_sigma(variance))
    proposed = law.tail(abs(k) - 1) - law.tail(abs(k)) if k else 1 - 2 * law.tail(0)
    return (ball(-k * k) / (2 * ball(variance))).exp(), proposed


@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(2), Fraction(10**6), Fraction(10**18, 7)])
def test_acceptance_is_the_ratio_of_target_and_proposal_and_never_above_one(variance):
    sigma = math.sqrt(variance)
    for k in {0, 1, -1, 2, 5, int(sigma), -int(3 * sigma), int(9 * sigma)}:
        with precision(400):
            target, proposed = masses(variance, k)
            target_zero, proposed_zero = masses(variance, 0)
            chance = acceptance(variance, k)
            assert chance.overlaps(target / proposed / (target_zero / proposed_zero))
            assert chance.lower() <= 1
            bound = float(surely_accepted(variance, np.array([float(k)]))[0])
            assert chance > ball(Fraction(bound))


def test_the_proposal_is_never_narrower_than_the_target():
    for variance in (Fraction(2), Fraction(4), Fraction(1, 10**6), Fraction(1 << 120), Fraction((1 << 120) - 1)):
        sigma = proposal_sigma(variance)
        assert variance <= sigma**2 <= variance * (1 + Fraction(1, 1 << 80))
        assert Fraction(1, 1000) <= sigma <= 1 << 60


def test_accepting_learns_bits_only_where_needed(script):
    variance = Fraction(1)
    assert accepts(variance, 0, LazyUniform(0, 8, script().learn))
    assert not accepts(variance, 4, LazyUniform(255, 8, script().learn))


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("variance", [Fraction(1), Fraction(5000), Fraction(10**12), Fraction(1 << 120)])
def test_draws_of_any_size(variance, public):
    sigma = math.sqrt(variance)
    assert isinstance(discrete_gaussian(variance, public=public), int)
    for size in (0, 5, 3000):
        draws = discrete_gaussian(variance, size, public=public)
        assert draws.shape == (size,)
        assert size < 3000 or 0.9 * sigma < draws.astype(float).std() < 1.1 * sigma


def test_rejection_gives_the_law_that_the_table_gives():
    # At this variance four in a hundred proposals are rejected, most of them at k = +-1 and +-2.
    draws = many_by_rejection(Fraction(1), 20_000, public=False)
    with precision(64):
        law = DiscreteGaussianDistribution(Fraction(1))
        at_zero, at_one = 1 - 2 * float(law.tail(0)), 2 * float(law.tail(0) - law.tail(1))
    assert abs((draws == 0).mean() - at_zero) < 0.025
    assert abs((np.abs(draws) == 1).mean() - at_one) < 0.025


def test_whatever_is_not_surely_accepted_is_asked(monkeypatch):
    """Proposals are accepted unseen below a proven bound only: with the bound 0, never."""
    asked = []

    def ask(variance, k, uniform):
        asked.append(k)
        return accepts(variance, k, uniform)

    module = sys.modules[many_by_rejection.__module__]  # its name in the package is that of the function
    monkeypatch.setattr(module, "accepts", ask)
    monkeypatch.setattr(module, "surely_accepted", lambda variance, k: np.zeros(k.size))
    many_by_rejection(Fraction(10**6), 50, True)
    assert len(asked) >= 50


def test_the_range_of_variances_is_closed():
    for variance in (Fraction(1, 10**6), Fraction(2**120)):
        assert isinstance(discrete_gaussian(variance), int)
    for variance in (Fraction(1, 10**6 + 1), Fraction(2**120 + 1)):
        with pytest.raises(ParameterError, match="must lie between"):
            discrete_gaussian(variance)
