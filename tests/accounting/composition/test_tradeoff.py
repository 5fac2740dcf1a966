"""Trade-off functions: closed forms, the definition by enumeration of tests, and what no test may go below."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, PureDP, compose
from dither.errors import ParameterError

LEVELS = ["0", "1e-6", "0.01", "0.2", "0.5", "0.9", "0.999", "1"]


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_pure_and_approximate_closed_forms(epsilon, alpha):
    e, a = math.exp(float(epsilon)), float(alpha)
    for guarantee, delta in ((PureDP(epsilon), 0.0), (ApproxDP(epsilon, "0.01"), 0.01)):
        exact = max(0.0, 1 - delta - e * a, (1 - delta - a) / e)
        found = guarantee.tradeoff(alpha)
        assert found <= exact + 1e-15
        assert found >= exact - 1e-9


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("mu", ["0.1", "1", "4"])
def test_the_gaussian_closed_form(mu, alpha):
    from scipy.stats import norm

    exact = norm.cdf(norm.ppf(1 - float(alpha)) - float(mu))
    assert GDP(mu).tradeoff(alpha) == pytest.approx(exact, rel=1e-9, abs=1e-15)
    # Read off its curve of epsilon and delta alone it is the same.
    curve = PLD(PLD.pure("1e-9").distributions, Fraction(mu) ** 2)
    assert exact - 2e-4 <= curve.tradeoff(alpha) <= exact + 1e-8


def best_test(p, q, level):
    """The smallest miss probability of a (randomised) test of this level, over all likelihood-ratio orders."""
    order = sorted(range(len(p)), key=lambda i: -(p[i] / q[i] if q[i] else math.inf))
    power, spent = 0.0, 0.0
    for i in order:
        part = min(1.0, (level - spent) / q[i]) if q[i] else 1.0
        power, spent = power + part * p[i], spent + part * q[i]
    return 1 - power


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("alpha", ["0.001", "0.05", "0.3", "0.8"])
def test_no_test_of_many_responses_goes_below_it(count, alpha):
    guarantee = PureDP("0.7") * count
    truth = 1 / (1 + math.exp(-0.7))
    p, q = [], []
    for answers in itertools.product((0, 1), repeat=count):
        p.append(math.prod(truth if one else 1 - truth for one in answers))
        q.append(math.prod(1 - truth if one else truth for one in answers))
    exact = best_test(p, q, float(alpha))
    assert guarantee.tradeoff(alpha) <= exact + 1e-12
    assert guarantee.tradeoff(alpha) >= exact - 2e-3


def test_what_is_known_less_promises_less():
    for alpha in ("0.01", "0.3"):
        assert ZCDP("0.02").tradeoff(alpha) <= GDP("0.2").tradeoff(alpha)
        assert 0 < RDP.of(GDP("0.2")).tradeoff(alpha) <= GDP("0.2").tradeoff(alpha)
        sampled = PLD.subsampled_gaussian(1, "0.1")
        assert GDP(1).tradeoff(alpha) < sampled.tradeoff(alpha) < 1 - float(alpha)
        assert compose([PureDP(0)]).tradeoff(alpha) == pytest.approx(1 - float(alpha), abs=1e-15)


def test_levels_are_probabilities():
    for wrong in (-1, "1.1", "nan", True):
        with pytest.raises(ParameterError):
            PureDP(1).tradeoff(wrong)
