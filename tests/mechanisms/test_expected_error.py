"""The expected largest of many noises, against a plain sum over the exact law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact.balls import bounds
from dither.mechanisms import (
    Gaussian,
    Laplace,
    SmoothCauchy,
    SmoothGaussian,
    SmoothLaplace,
    SmoothLaplaceLogNormal,
    SmoothLomax,
    SmoothStudentT,
)


@pytest.mark.parametrize("count", [1, 2, 30])
def test_the_closed_form_is_the_sum(count):
    mechanism = Laplace(epsilon="0.5", sensitivity=1, grid="0.5")
    inside, total = 0.0, 0.0
    for steps in range(400):
        inside += float(mechanism.pmf(steps)[1]) * (2 if steps else 1)
        total += 1 - min(1.0, inside) ** count
    assert mechanism.expected_error(count=count) == pytest.approx(total * 0.5, rel=1e-9)


@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("sigma", ["0.3", "1", "7"])
def test_rounded_gaussian_noise_is_the_sum_as_well(sigma, count):
    mechanism = Gaussian(rho=1 / (2 * Fraction(sigma) ** 2), sensitivity=1, grid=1)
    inside, total = 0.0, 0.0
    for steps in range(120):
        inside += float(mechanism.pmf(steps)[1]) * (2 if steps else 1)
        total += 1 - min(1.0, inside) ** count
    assert mechanism.expected_error(count=count) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(("count", "exact"), [(1, math.sqrt(2 / math.pi)), (2, 2 / math.sqrt(math.pi))])
def test_wide_gaussian_noise_is_bounded_by_the_normal_variable(count, exact):
    """E max(|Z_1|, |Z_2|) = 2 / sqrt pi."""
    for sigma in (101, 10**6):
        found = Gaussian(rho=Fraction(1, 2 * sigma**2), sensitivity=1, grid=1).expected_error(count=count)
        assert sigma * exact <= found <= sigma * exact * 1.01


SMOOTH = [
    SmoothStudentT(epsilon=1, degrees="4.5"),
    SmoothLomax(epsilon=1, shape=6),
    SmoothCauchy(epsilon=1, gamma=4),
    SmoothLaplace(epsilon=1, delta="1e-6"),
    SmoothGaussian(epsilon=1, delta="1e-6"),
    SmoothLaplaceLogNormal(rho=1),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("mechanism", SMOOTH, ids=lambda one: type(one).__name__)
def test_moments_of_smooth_noise_are_integrals_of_its_tails(mechanism, order):
    """E|eta|^p = 2p int t^(p-1) P(eta > t) dt, on a logarithmic grid."""
    points = np.linspace(-10, 14, 400)
    tails = np.array(
        [float(bounds(lambda t=t: mechanism.distribution.above(Fraction(t)), 20)[1]) for t in np.exp(points)]
    )
    integral = np.trapezoid(2 * order * np.exp(order * points) * tails, points)
    assert mechanism.moment(order) * float(mechanism.divisor) ** order == pytest.approx(integral, rel=2e-3)


def test_moments_that_do_not_exist_are_infinite():
    assert SmoothCauchy(epsilon=1).moment(1) == math.inf
    assert SmoothCauchy(epsilon=1, gamma=3).moment(2) == math.inf
    assert SmoothStudentT(epsilon=1, degrees=3).moment(3) == math.inf
    assert SmoothLomax(epsilon=1, shape=3).moment(2) == math.inf
    with pytest.raises(ParameterError, match="order"):
        SmoothCauchy(epsilon=1).moment(0)


def test_too_many_are_refused():
    with pytest.raises(ParameterError, match="count"):
        Laplace(epsilon=1, sensitivity=1).expected_error(count=2000)


@pytest.mark.parametrize("count", [1, 2, 30])
@pytest.mark.parametrize("mechanism", [Laplace(epsilon="0.5", sensitivity=1), Gaussian(rho="0.02", sensitivity=1)])
def test_the_largest_of_many_stays_within_the_error(mechanism, count):
    """The smallest width that holds all of `count` noises at once, by a plain sum over the exact law."""
    width = int(mechanism.error("0.9", count=count))
    outside = [
        1 - sum(float(mechanism.pmf(step)[1]) for step in range(1 - reach, reach)) for reach in (width + 1, width)
    ]
    together = [1 - (1 - max(0.0, each)) ** count for each in outside]
    assert together[0] <= 0.1 < together[1]


def test_released_numbers_stay_as_they_are():
    released = Laplace(epsilon=1, sensitivity=1).release([1, 2, 3])
    with pytest.raises(ValueError, match="read-only"):
        released.steps[0] = 7


@pytest.mark.parametrize("epsilon", ["0.5", 3])
def test_the_variance_is_the_sum_over_the_law(epsilon):
    mechanism = Laplace(epsilon=epsilon, sensitivity=1, grid="0.5")
    total = sum(2 * step * step * float(mechanism.pmf(step)[1]) for step in range(400)) / 4
    assert mechanism.variance == pytest.approx(total, rel=1e-9)
