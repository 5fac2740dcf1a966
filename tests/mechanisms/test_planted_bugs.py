"""Deliberately broken variants, each caught by a check that the real mechanism passes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace


def discrete_gaussian_delta(variance, shift, epsilon):
    """The exact one-dimensional curve of the discrete Gaussian for an integer shift, from its definition."""
    reach = int(40 * math.sqrt(variance)) + 40
    points = range(-reach, reach + 1)
    weight = {x: math.exp(-x * x / (2 * variance)) for x in points}
    total = math.fsum(weight.values())
    factor = math.exp(epsilon)
    moved = {x: math.exp(-((x + shift) ** 2) / (2 * variance)) for x in points}
    return math.fsum(max(0.0, weight[x] - factor * moved[x]) for x in points) / total


@pytest.mark.parametrize(("epsilon", "times"), [(1, 1.02), (2, 1.10), (8, 3.0)])
def test_the_discrete_gaussian_with_the_analytic_sigma_breaks_its_claim(epsilon, times, enumeration):
    claimed = 1e-6
    mechanism = Gaussian(epsilon=epsilon, delta="1e-6", sensitivity=1)
    true = discrete_gaussian_delta(float(mechanism.sigma_steps) ** 2, 1, epsilon)
    assert true / claimed == pytest.approx(times, rel=0.02)
    assert true > claimed
    assert enumeration.hockey_stick(mechanism, 1, epsilon)[1] <= Fraction(1, 10**6)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_rho_of_continuous_laplace_is_too_small_for_discrete_noise(steps, enumeration):
    mechanism = Laplace(epsilon=1, sensitivity=steps)
    continuous = 1 + math.exp(-1) - 1
    true = enumeration.renyi_over_order(mechanism, steps, 1.0001)
    assert true > continuous * 1.01
    assert true <= float(mechanism.guarantee.zcdp().rho) * (1 + 1e-9)


def test_the_classical_sigma_at_epsilon_twenty_breaks_its_claim():
    sigma = math.sqrt(2 * math.log(2e5)) / 20
    broken = Gaussian(rho=Fraction(1, 2) / Fraction(sigma) ** 2, sensitivity=1)
    assert broken.guarantee.delta_at(20) == pytest.approx(9.6971722e-4, rel=1e-6)
    assert broken.guarantee.delta_at(20) > 1e-5
    with pytest.raises(ParameterError, match="analytic"):
        Gaussian(epsilon=20, delta="1e-5", sensitivity=1, calibration="classical")
    honest = Gaussian(epsilon=20, delta="1e-5", sensitivity=1)
    assert honest.guarantee.delta_at(20) <= 1e-5


def reachable(outputs, grid):
    """Every output is a whole number of grid steps, held exactly: then the support is the grid, whatever the value."""
    return all(isinstance(output, (int, Fraction)) and (Fraction(output) / grid).denominator == 1 for output in outputs)


def test_floating_point_noise_reaches_different_numbers_from_neighbours():
    generator = np.random.default_rng(1)
    uniform = generator.random(2000) - 0.5
    noise = -np.sign(uniform) * np.log1p(-2 * abs(uniform))
    floats = [float(value) for value in 1.0 + noise[:200]]
    assert not reachable(floats, Fraction(1))
    # The attack: a double near 0 carries finer digits than any double of the form 1 + noise can leave after rounding.
    small = [value for value in 1.0 + noise if abs(value) < 0.01]
    assert all(Fraction(value) % Fraction(1, 2**54) == 0 for value in small)
    assert not all(Fraction(float(value)) % Fraction(1, 2**54) == 0 for value in 0.0 + noise if abs(value) < 0.01)

    for grid in (Fraction(1), Fraction(1, 4)):
        mechanism = Laplace(epsilon=1, sensitivity=1, grid=grid)
        for value in (0, 1):
            assert reachable(mechanism.release([value] * 200).value.tolist(), grid)


def test_ten_million_outputs_are_on_the_grid_and_reach_the_same_points():
    """Threat 10: from a value and from its neighbour exactly the same numbers can come."""
    mechanism = Laplace(epsilon=1, sensitivity=1)
    seen = []
    for value in (0, 1):
        outputs = mechanism.release(np.full(10**7, value)).steps
        assert outputs.dtype == np.int64
        seen.append(np.bincount(outputs[abs(outputs) <= 8] + 8, minlength=17) > 0)
    assert seen[0].all()
    assert seen[1].all()


def test_noise_for_half_the_sensitivity_is_caught_under_the_other_relation(enumeration):
    """Threat 38: a histogram calibrated for add_remove but claimed under replace, where a record moves two cells."""
    added, replaced = Laplace(epsilon=1, sensitivity=1), Laplace(epsilon=1, sensitivity=2, relation="replace")
    ratio = {name: float(m.pmf(0)[1] / m.pmf(1)[0]) ** 2 for name, m in (("wrong", added), ("right", replaced))}
    assert math.log(ratio["wrong"]) == pytest.approx(2)
    assert math.log(ratio["right"]) <= 1 + 1e-12
