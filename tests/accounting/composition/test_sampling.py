"""Sampled noise in accounts, groups and under other relations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import PLD, ZCDP, Filter, calibrate


def log_normal(x, mean, sigma):
    return -((x - mean) ** 2) / (2 * sigma * sigma) - math.log(sigma * math.sqrt(2 * math.pi))


@pytest.mark.parametrize(("sigma", "rate"), [(1, "0.01"), ("0.7", "0.3"), (3, "0.5"), (2, "0.999")])
def test_the_rho_of_sampled_noise_is_that_without_sampling(sigma, rate):
    """Divergences of the mixture, by summing over a fine grid, are below it at all orders, in both directions."""
    sampled = PLD.subsampled_gaussian(sigma, rate).zcdp()
    assert (sampled.rho, sampled.delta) == (1 / (2 * Fraction(sigma) ** 2), 0)
    s, q = float(Fraction(sigma)), float(Fraction(rate))
    x = np.linspace(-40 * s, 40 * s + 1, 400_001)
    base = log_normal(x, 0, s)
    mixed = np.logaddexp(math.log(q) + log_normal(x, 1, s), math.log1p(-q) + base)
    for order in (1.5, 2, 4, 10):
        for p, r in ((mixed, base), (base, mixed)):
            moment = np.sum(np.exp(order * p - (order - 1) * r)) * (x[1] - x[0])
            assert math.log(moment) / (order - 1) <= float(sampled.rho) * order * (1 + 1e-9)


def test_a_budget_of_rho_pays_for_sampled_noise():
    step = PLD.subsampled_gaussian(2, "0.1")
    account = Filter(ZCDP("0.25"))
    account.spend(step * 2)
    assert account.left.cost == 0


def test_noise_is_found_for_a_budget_of_rho():
    found = calibrate(lambda sigma: PLD.subsampled_gaussian(sigma, "0.1"), ZCDP("0.1"), 10)
    assert found.total.zcdp().rho <= Fraction(1, 10)
    assert float(found.noise) == pytest.approx(math.sqrt(50), rel=1e-6)
