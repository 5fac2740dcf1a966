"""Bounded range: the exact optimum for mechanisms fixed in advance, and nothing at all for adaptive ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dither as dt
from dither.accounting import Filter, PureDP, RenyiFilter, bounded_range, calibrate, compose, optimal
from dither.errors import ParameterError
from dither.mechanisms import Exponential


def pair(top, epsilon):
    """Losses top and top - epsilon: the masses of both under P and under Q."""
    high = (math.exp(epsilon) - math.exp(top)) / math.expm1(epsilon)
    return (high, 1 - high), (high * math.exp(-top), (1 - high) * math.exp(epsilon - top))


def divergence(tops, at, epsilon):
    """sum (P - e^at Q)_+ over all outcomes of mechanisms with these largest losses."""
    total = 0.0
    for lows in itertools.product((0, 1), repeat=len(tops)):
        p = q = 1.0
        for low, top in zip(lows, tops, strict=True):
            masses = pair(top, epsilon)
            p, q = p * masses[0][low], q * masses[1][low]
        total += max(0.0, p - math.exp(at) * q)
    return total


def adaptive_divergence(count, at, epsilon, parts=60):
    """The same if each largest loss is chosen, on a grid, from the outcomes before."""

    @cache
    def value(left, loss):
        if not left:
            return max(0.0, -math.expm1(at - loss * epsilon / parts))
        return max(
            masses[0] * value(left - 1, loss + top) + masses[1] * value(left - 1, loss + top - parts)
            for top in range(parts + 1)
            for masses in [pair(top * epsilon / parts, epsilon)[0]]
        )

    return value(count, 0)


@pytest.mark.parametrize(("epsilon", "count"), [(1, 2), (1, 3), ("0.5", 3), (2, 2)])
@pytest.mark.parametrize("share", ["0", "0.2", "0.35", "0.7", "0.95"])
def test_it_is_the_largest_over_all_largest_losses(epsilon, count, share):
    """Different ones included: all of a grid are tried, and the optimum is not far above the best of them."""
    size = float(Fraction(epsilon))
    at = Fraction(share) * count * Fraction(epsilon)
    found = bounded_range(epsilon=epsilon, k=count, adaptive=False).bounds_at(epsilon=at)
    worst = [(float(at) + low * size) / (count + 1) for low in range(1, count + 1)]
    grid = sorted({*np.linspace(0, size, 25).tolist(), *(top for top in worst if top <= size)})
    tried = max(divergence(tops, float(at), size) for tops in itertools.combinations_with_replacement(grid, count))
    assert tried <= found.upper * (1 + 1e-12)
    assert found.lower <= tried * (1 + 1e-9)
    assert found.upper - found.lower <= 1e-9 * found.upper


def test_adaptive_choices_are_worse_so_that_it_is_no_adaptive_bound():
    fixed = bounded_range(epsilon=1, k=3, adaptive=False).delta_at(1)
    assert fixed == pytest.approx(0.09490, abs=1e-5)
    assert adaptive_divergence(3, 1.0, 1.0) == pytest.approx(0.0998, abs=1e-4)
    # What adaptive accounts are told instead holds against the same adversary.
    guarantee = Exponential(epsilon=1, sensitivity=1).guarantee
    assert compose([guarantee] * 3).delta_at(1) >= adaptive_divergence(3, 1.0, 1.0)


class Tempting(PureDP):
    """The planted bug: a guarantee that reads its composition off the bound for mechanisms fixed in advance."""

    def __mul__(self, count):
        return bounded_range(epsilon=self.epsilon, k=count, adaptive=False)


def holds_against_the_adversary(total):
    return total.delta_at(1) >= adaptive_divergence(3, 1.0, 1.0)


def test_the_adversary_catches_it_in_a_composition():
    assert holds_against_the_adversary(Exponential(epsilon=1, sensitivity=1).guarantee * 3)
    assert not holds_against_the_adversary(Tempting(1) * 3)


def test_nothing_composes_or_spends_it():
    curve = bounded_range(epsilon="0.1", k=10, adaptive=False)
    assert not isinstance(curve, dt.accounting.Guarantee)
    for use in (
        lambda: compose([curve]),
        lambda: Filter(curve),
        lambda: Filter(PureDP(1)).spend(curve),
        lambda: Filter(dt.ApproxDP(1, "1e-6")).spend(curve),
        lambda: RenyiFilter(dt.ApproxDP(1, "1e-6")).spend(curve),
        lambda: dt.Odometer(delta="1e-6").spend(curve),
        lambda: calibrate(lambda noise: curve, dt.ApproxDP(1, "1e-6")),
    ):
        with pytest.raises((ParameterError, AttributeError)):
            use()
    for adaptive in (True, None, 0):
        with pytest.raises(ParameterError, match="adaptive=False"):
            bounded_range(epsilon=1, k=3, adaptive=adaptive)
    with pytest.raises(TypeError):
        bounded_range(epsilon=1, k=3)


@pytest.mark.parametrize(("epsilon", "count", "delta"), [("0.1", 100, "1e-6"), ("0.01", 1000, "1e-9"), (1, 1, "1e-3")])
def test_it_lies_between_the_noise_itself_and_randomised_response(epsilon, count, delta):
    curve = bounded_range(epsilon=epsilon, k=count, adaptive=False)
    found = curve.bounds_at(delta=delta)
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.upper <= optimal(epsilon=epsilon, k=count, at=delta).lower
    assert curve.delta_at(Fraction(found.upper)) <= float(delta) * (1 + 1e-9)
    assert curve.delta_at(Fraction(found.lower) * Fraction(999999, 10**6)) > float(delta)
    # The pair in the middle, losses of half of epsilon, is randomised response with half of epsilon.
    assert found.lower >= optimal(epsilon=Fraction(epsilon) / 2, k=count, at=delta).upper


def test_the_ends_of_the_curve():
    curve = bounded_range(epsilon="0.5", k=4, adaptive=False)
    assert curve.delta_at(2) == 0
    assert curve.epsilon_at(0) == 2
    assert curve.epsilon_at("0.99") == 0
    for wrong in ({"epsilon": 0}, {"k": 0}, {"k": 10**6}, {"epsilon": 10**4}):
        with pytest.raises(ParameterError):
            bounded_range(**({"epsilon": 1, "k": 3, "adaptive": False} | wrong))
    with pytest.raises(ParameterError, match="one of them"):
        curve.bounds_at()
