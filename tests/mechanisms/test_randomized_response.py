"""Randomised response: its law, its curve, and an estimator without bias."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import RandomizedResponse
from dither.neighbours import Relation


def law(mechanism, value):
    return [float(low) for low, _ in mechanism.probability_bounds(value)]


@pytest.mark.parametrize("size", [2, 3, 10])
def test_truth_and_others(size):
    mechanism = RandomizedResponse(epsilon="1.5", values=range(size))
    e = math.exp(1.5)
    found = law(mechanism, 1)
    assert found[1] == pytest.approx(e / (e + size - 1), rel=1e-14)
    assert found[0] == pytest.approx(1 / (e + size - 1), rel=1e-14)
    assert sum(found) == pytest.approx(1)


def test_the_curve_of_two_values_is_tight():
    p, q = law(RandomizedResponse(epsilon=1), 1), law(RandomizedResponse(epsilon=1), 0)
    stated = RandomizedResponse(epsilon=1).guarantee
    for at in (0, 0.3, 0.9):
        reached = sum(max(0, a - math.exp(at) * b) for a, b in zip(p, q, strict=True))
        assert reached == pytest.approx((math.e - math.exp(at)) / (1 + math.e), rel=1e-12)
        assert stated.delta_at(at) == pytest.approx(reached, rel=1e-12)
    assert float(stated.zcdp().rho) == pytest.approx(math.tanh(0.5), rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 60])
def test_rho_holds_at_every_order_and_is_the_divergence_where_proven(size):
    mechanism = RandomizedResponse(epsilon=1, values=range(size))
    p, q = np.array(law(mechanism, 0)), np.array(law(mechanism, 1))
    rho = float(mechanism.guarantee.zcdp().rho)
    for order in (1.0001, 1.5, 3, 10, 100):
        assert np.log((p * (p / q) ** (order - 1)).sum()) / (order - 1) / order <= rho * (1 + 1e-9)
    divergence = (p * np.log(p / q)).sum()
    if size - 2 <= 2 * math.exp(0.5):
        assert rho == pytest.approx(divergence, rel=1e-12)
    else:
        assert rho == pytest.approx(math.tanh(0.5), rel=1e-12)
        worst = max(np.log((p * (p / q) ** (a - 1)).sum()) / (a - 1) / a for a in np.linspace(1.01, 20, 200))
        assert size < 60 or worst > divergence, "with many values the divergence alone is too small a rho"


@pytest.mark.parametrize("truth", [(0, 0, 1), (1, 1, 2, 0)])
def test_the_estimate_is_unbiased_and_its_variance_right(truth):
    """By enumeration of all reports."""
    values = tuple(range(max(truth) + 1))
    mechanism = RandomizedResponse(epsilon="0.7", values=values)
    mean, second, variance = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values))
    for reports in itertools.product(values, repeat=len(truth)):
        weight = math.prod(law(mechanism, t)[r] for t, r in zip(truth, reports, strict=True))
        found = mechanism.estimate(reports)
        mean += weight * np.array(found.shares)
        second += weight * np.array(found.shares) ** 2
        variance += weight * np.array(found.variances)
    shares = np.bincount(truth, minlength=len(values)) / len(truth)
    assert mean == pytest.approx(shares, abs=1e-12)
    exact = second - mean**2
    if len(values) == 2:
        q = law(mechanism, 1)[1]
        assert exact == pytest.approx([q * (1 - q) / (len(truth) * (2 * q - 1) ** 2)] * 2, rel=1e-9)
        assert variance == pytest.approx(exact, rel=1e-9)
    else:
        assert variance == pytest.approx(exact, rel=0.35), "estimated from a clipped share"
    assert mechanism.estimate(truth)[values[0]] == mechanism.estimate(truth).shares[0]


def test_reports_keep_kind_and_number():
    mechanism = RandomizedResponse(epsilon=1000, values=["yes", "no"])
    assert mechanism.release("yes").value == "yes"
    assert mechanism.release(["yes", "no", "no"]).value == ["yes", "no", "no"]
    assert mechanism.release(np.array(["no", "yes"])).value == ["no", "yes"]
    assert mechanism.release([]).value == []
    assert RandomizedResponse(epsilon=1000).release(np.array([0, 1, 1])).value == [0, 1, 1]


def test_what_is_refused():
    with pytest.raises(RelationMismatch):
        RandomizedResponse(epsilon=1, relation=Relation.ADD_REMOVE)
    for values in ([], ["only"], ["a", "a"], "ab"):
        with pytest.raises(ParameterError):
            RandomizedResponse(epsilon=1, values=values)
    mechanism = RandomizedResponse(epsilon=1, values=["a", "b"])
    for answers in ("canary", ["a", "canary"], 7, [["a"]], None):
        for use in (mechanism.release, mechanism.estimate):
            with pytest.raises(ParameterError) as caught:
                use(answers)
            assert "canary" not in str(caught.value)
    with pytest.raises(ParameterError):
        mechanism.estimate([])
    assert mechanism.epsilon == Fraction(1)
