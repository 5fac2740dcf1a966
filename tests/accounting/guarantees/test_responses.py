"""Randomised response among several values states the exact distribution of its loss."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dither.accounting import PureDP, compose
from dither.accounting.composition.optimal import optimal
from dither.accounting.guarantees.responses import ResponseDP
from dither.accounting.pld.closed_forms import TwoPoint
from dither.accounting.pld.three_point import ThreePoint
from dither.errors import ParameterError
from dither.exact.balls import precision
from dither.mechanisms import RandomizedResponse


def number(value):
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def loss_distribution(epsilon, values):
    e = number(epsilon)
    total = e.exp() + values - 1
    return [(e, e.exp() / total), (-e, 1 / total), (arb(0), (values - 2) / total)]


def true_delta(epsilon, values, steps, at):
    with precision(200):
        total = arb(0)
        for chosen in itertools.product(loss_distribution(epsilon, values), repeat=steps):
            loss = sum((each for each, _ in chosen), arb(0))
            mass = math.prod((each for _, each in chosen), start=arb(1))
            if loss > number(at):
                total += mass * (1 - (number(at) - loss).exp())
        return total


@pytest.mark.parametrize(("epsilon", "values"), [(1, 3), ("0.1", 10), (4, 100)])
def test_the_stated_curve_is_that_of_the_reports(epsilon, values):
    stated = RandomizedResponse(epsilon=epsilon, values=range(values)).guarantee
    assert stated.basic().epsilon == Fraction(epsilon)
    for at in (0, Fraction(epsilon) / 3, Fraction(epsilon) * 9 / 10):
        low, high = stated.bounds_at(epsilon=at)
        truth = true_delta(epsilon, values, 1, at)
        assert Fraction(low) <= Fraction(high) <= Fraction(low) * (1 + Fraction(1, 10**14))
        with precision(200):
            assert not number(Fraction(low)) > truth
            assert not truth > number(Fraction(high))
        assert high < PureDP(epsilon).delta_at(at)
        back = stated.bounds_at(delta=Fraction(high))
        assert back[0] <= float(at) * (1 + 1e-9) + 1e-12
        assert back[1] >= float(at) * (1 - 1e-9) - 1e-12
    assert stated.bounds_at(delta=0) == (float(Fraction(epsilon)),) * 2 or stated.epsilon_at(0) >= float(epsilon)
    assert stated.delta_at(epsilon) == 0
    assert stated.epsilon_at("0.999999") == 0


@pytest.mark.parametrize(("epsilon", "values"), [(1, 3), ("0.2", 7), (3, 50)])
def test_answering_again_against_200_bits(epsilon, values):
    for steps in (2, 5):
        again = RandomizedResponse(epsilon=epsilon, values=range(values)).guarantee * steps
        for delta in ("0.1", "1e-3", "1e-9"):
            low, high = again.bounds_at(delta=delta)
            assert high - low <= 1e-3 * high
            with precision(200):
                assert not true_delta(epsilon, values, steps, Fraction(high)) > number(delta)
                assert low == 0 or not true_delta(epsilon, values, steps, Fraction(low)) < number(delta)


def test_many_answers_cost_less_than_what_epsilon_alone_says():
    stated = RandomizedResponse(epsilon=1, values=range(10)).guarantee
    low, high = (stated * 1000).bounds_at(delta="1e-6")
    assert high - low <= 1e-3 * high
    assert high < 0.4 * (PureDP(1, "replace") * 1000).epsilon_at("1e-6")
    mixed = compose([stated, stated, PureDP(1, "replace")]).bounds_at(delta="1e-6")
    assert mixed[0] <= mixed[1] <= 3
    assert stated.renyi(2) <= 1


@pytest.mark.parametrize(("epsilon", "values"), [(Fraction(1, 100), 5), (Fraction(1), 3), (Fraction(7), 10**4)])
def test_float_transforms_are_as_good_as_they_say(epsilon, values):
    distribution = ThreePoint(epsilon, values)
    for theta in (1e-3, 0.7, 30.0):
        times = np.linspace(0, 40, 60) / float(epsilon)
        value, error = distribution.ratio(theta, times)
        cumulant, wrong = distribution.cumulant(np.array([theta]))
        with precision(256):
            parts = loss_distribution(epsilon, values)
            whole = sum(((arb(theta) * loss).exp() * mass for loss, mass in parts), arb(0))
            assert abs(float((whole.log() - arb(float(cumulant[0]))).mid())) <= float(wrong[0])
            for t, r, x in zip(times, value, np.broadcast_to(error, times.shape), strict=True):
                z = acb(arb(theta), arb(float(t)))
                true = sum(((z * loss).exp() * mass for loss, mass in parts), acb(0)) / whole
                assert float(abs(true - acb(float(r.real), float(r.imag))).upper()) <= x


def test_logarithms_of_two_values_are_as_good_as_they_say():
    distribution = TwoPoint(Fraction(1, 50))
    for theta in (1e-4, 0.5, 40.0):
        times = np.concatenate([np.geomspace(1e-7, 20, 40), np.linspace(0, 400, 50)])
        logs, wrong = distribution.log_ratio(theta, times)
        with precision(256):
            e = number(distribution.epsilon)
            for t, value, x in zip(times, logs, wrong, strict=True):
                ratio = ((acb(arb(theta), arb(float(t))) + acb(1) / 2) * e).cosh() / (
                    (arb(theta) + arb(1) / 2) * e
                ).cosh()
                off = ratio / acb(arb(float(value.real)), arb(float(value.imag))).exp() - 1
                assert float(abs(off).upper()) <= 1.01 * x + 1e-70


@pytest.mark.parametrize("count", [10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", "0.1", 3])
def test_optimal_composition_of_very_many_steps_is_narrow(epsilon, count):
    found = optimal(epsilon=epsilon, k=count, at="1e-6")
    assert found.upper - found.lower <= 1e-3 * found.upper
    mean = count * float(Fraction(epsilon)) * math.tanh(float(Fraction(epsilon)) / 2)
    assert found.upper >= mean
    assert found.lower <= mean + 6 * float(Fraction(epsilon)) * math.sqrt(count)


@pytest.mark.parametrize(
    "make", [lambda: ResponseDP(1, 1), lambda: ResponseDP(1, 3).bounds_at(), lambda: ResponseDP(-1, 3)]
)
def test_refused(make):
    with pytest.raises(ParameterError):
        make()
