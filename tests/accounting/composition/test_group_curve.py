"""Groups of what is known by its curve only: sampled noise, compositions, Renyi curves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, PureDP, compose, group, replace_from_add_remove
from dither.errors import ParameterError
from dither.neighbours import Relation


def sampled_group(sigma, rate, size, epsilon):
    """The exact delta of one release if `size` records are added, by summing the mixture over a fine grid."""
    x = np.linspace(-12 * sigma, 12 * sigma + size, 200_001)
    normal = lambda mean: np.exp(-((x - mean) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))  # noqa: E731
    weights = [math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
    mixed = sum(weight * normal(k) for k, weight in enumerate(weights))
    step = x[1] - x[0]
    return max(
        np.sum(np.maximum(0, p - math.exp(epsilon) * q)) * step for p, q in ((mixed, normal(0)), (normal(0), mixed))
    )


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("epsilon", ["0", "0.5", "2"])
def test_a_group_in_sampled_noise_is_covered(size, epsilon):
    found = group(PLD.subsampled_gaussian(1, "0.1"), size)
    assert found.delta_at(epsilon) >= sampled_group(1.0, 0.1, size, float(epsilon)) * (1 - 1e-6)
    assert found.delta_at(epsilon) < 1


def test_each_point_is_converted_and_read_back():
    plan = PLD.subsampled_gaussian(2, "0.01") * 100
    found = group(plan, 4)
    epsilon = found.epsilon_at("1e-5")
    assert found.delta_at(Fraction(epsilon)) <= 1e-5 * (1 + 1e-6)
    assert found.delta_at(Fraction(epsilon) * Fraction(9, 10)) > 1e-5
    each = epsilon / 4
    point = plan.delta_at(Fraction(each)) * math.expm1(epsilon) / math.expm1(each)
    assert found.delta_at(Fraction(epsilon)) == pytest.approx(point, rel=1e-6)
    assert found.zcdp().rho == 16 * plan.zcdp().rho


def test_it_is_no_better_than_what_is_exact():
    gaussian = RDP.of(GDP("0.1"))
    for size in (1, 2, 5):
        assert group(gaussian, size).delta_at("0.5") >= group(GDP("0.1"), size).delta_at("0.5")
    pure = group(compose([PureDP("0.1"), PureDP("0.2")]), 3)
    assert pure.epsilon_at(0) == pytest.approx(0.9, rel=1e-9)
    assert pure.basic() == PureDP("0.9")
    assert group(compose([PureDP("0.1"), ApproxDP("0.2", "1e-9")]), 2).basic().epsilon == Fraction(3, 5)
    with pytest.raises(ParameterError, match="no rho"):
        group(RDP({2: "0.1"}), 2).zcdp()
    assert group(RDP({2: "0.1"}), 2).epsilon_at("1e-300") == math.inf


def test_replace_is_a_group_of_two():
    plan = PLD.subsampled_gaussian(2, "0.01") * 100
    found = replace_from_add_remove(plan)
    assert found.relation is Relation.REPLACE
    assert found.delta_at(1) == group(plan, 2).delta_at(1)
    assert found.zcdp() == ZCDP(4 * plan.zcdp().rho, relation="replace")
    compose([found, PureDP("0.1", "replace")]).epsilon_at("1e-6")
