"""The expected largest of many noises, against a plain sum over the exact law."""

from __future__ import annotations

import pytest

from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace


@pytest.mark.parametrize("count", [1, 2, 30])
def test_the_closed_form_is_the_sum(count):
    mechanism = Laplace(epsilon="0.5", sensitivity=1, grid="0.5")
    inside, total = 0.0, 0.0
    for steps in range(400):
        inside += float(mechanism.pmf(steps)[1]) * (2 if steps else 1)
        total += 1 - min(1.0, inside) ** count
    assert mechanism.expected_error(count=count) == pytest.approx(total * 0.5, rel=1e-9)


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
