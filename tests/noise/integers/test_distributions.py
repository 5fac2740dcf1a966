"""The laws themselves, against their probabilities computed another way."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.exact.precision import precision
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution
from dither.noise.integers.gaussian import RoundedGaussianDistribution
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.laplace import LaplaceDistribution
from dither.noise.integers.standard_reals import HalfNormalCells


def laplace(scale, k):
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q**k


def geometric(scale, k):
    return math.exp(-k / scale) * -math.expm1(-1 / scale)


def rounded_gaussian(sigma, k):
    # Simpson's rule on the density over [k - 1/2, k + 1/2].
    def density(x):
        return math.exp(-((x / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))

    steps = 2000
    weights = [1] + [4, 2] * (steps // 2 - 1) + [4, 1]
    return sum(w * density(k - 0.5 + i / steps) for i, w in enumerate(weights)) / (3 * steps)


def discrete_gaussian(variance, k):
    weights = [math.exp(-x * x / (2 * variance)) for x in range(-400, 401)]
    return weights[400 + k] / sum(weights)


def half_normal_cell(step, k):
    return math.erf((k + 1) * step / math.sqrt(2)) - math.erf(k * step / math.sqrt(2))


@pytest.mark.parametrize(
    ("law", "probability"),
    [
        (LaplaceDistribution, laplace),
        (GeometricDistribution, geometric),
        (RoundedGaussianDistribution, rounded_gaussian),
        (DiscreteGaussianDistribution, discrete_gaussian),
        (HalfNormalCells, half_normal_cell),
    ],
)
@pytest.mark.parametrize("parameter", [Fraction(1, 2), Fraction(1), Fraction(7, 3)])
def test_tails_belong_to_the_stated_probabilities(law, probability, parameter):
    exact = law(parameter)
    with precision(128):
        at_zero = 1 - (2 if exact.symmetric else 1) * float(exact.tail(0))
        assert at_zero == pytest.approx(probability(float(parameter), 0), rel=1e-12)
        for k in (1, 2, 3, 5):
            mass = float(exact.tail(k - 1) - exact.tail(k))
            assert mass == pytest.approx(probability(float(parameter), k), rel=1e-9, abs=1e-15)
