"""Permute-and-flip against its definition, and against the exponential mechanism."""

from __future__ import annotations

import itertools
import math

import pytest

from dither.mechanisms import Exponential, PermuteAndFlip

TABLES = [[0], [0, 0], [0, 1], [3, 3, 2, 4], [0, 5, 5, 1]]


def by_definition(scores, rate):
    """Over all orders: the first candidate whose coin falls heads."""
    best = max(scores)
    weights = [math.exp(rate * (u - best)) for u in scores]
    found = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        none_yet = 1.0
        for r in order:
            found[r] += none_yet * weights[r]
            none_yet *= 1 - weights[r]
    return [p / math.factorial(len(scores)) for p in found]


@pytest.mark.parametrize("scores", TABLES)
@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_the_law_is_that_of_the_definition(scores, epsilon):
    for monotone in (False, True):
        mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1, monotone=monotone)
        assert mechanism.rate == (2 if monotone else 1) * PermuteAndFlip(epsilon=epsilon, sensitivity=1).rate
        assert mechanism.probabilities(scores) == pytest.approx(by_definition(scores, float(mechanism.rate)), abs=1e-14)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_the_expected_score_is_never_below_that_of_the_exponential_mechanism(epsilon):
    for scores in itertools.product(range(4), repeat=3):
        flip, weigh = (
            sum(u * p for u, p in zip(scores, kind(epsilon=epsilon, sensitivity=1).probabilities(scores), strict=True))
            for kind in (PermuteAndFlip, Exponential)
        )
        assert flip >= weigh - 1e-12


def test_food_is_chosen_better():
    food = [3, 3, 2, 3, 4]
    assert PermuteAndFlip(epsilon=2, sensitivity=1).probabilities(food)[4] == pytest.approx(0.541, abs=5e-4)
    assert Exponential(epsilon=2, sensitivity=1).probabilities(food)[4] == pytest.approx(0.447, abs=5e-4)


def test_the_rho_of_the_exponential_mechanism_does_not_hold_for_it():
    """Planted bug: epsilon^2/8 = 0.125. Two candidates at epsilon 1 reach 0.327."""
    mechanism = PermuteAndFlip(epsilon=1, sensitivity=1)
    reached = 0.0
    for gap in range(12):
        p, q = mechanism.probabilities([0, gap]), mechanism.probabilities([1, gap - 1])
        for order in (1.001, 1.5, 2, 4):
            for one, two in ((p, q), (q, p)):
                moment = sum(a * (a / b) ** (order - 1) for a, b in zip(one, two, strict=True))
                reached = max(reached, math.log(moment) / (order - 1) / order)
    assert 0.125 < reached <= float(mechanism.guarantee.zcdp().rho)
    assert reached == pytest.approx(0.327, abs=2e-3)
