"""Worked examples of composition and of the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.accounting import ZCDP, ApproxDP, PureDP, compose
from dither.mechanisms import Laplace


def test_repeating_is_not_free():
    """The mean of 10 answers at 0.1 costs 1 in all and has 10 times the variance of one answer at 1."""
    fine = {"sensitivity": 1, "grid": "1e-6"}
    tenth, one = Laplace(epsilon="0.1", **fine), Laplace(epsilon=1, **fine)
    assert (tenth.guarantee * 10).basic().epsilon == 1
    assert tenth.variance / 10 == pytest.approx(20, abs=1e-6)
    assert one.variance == pytest.approx(2, abs=1e-9)


def test_count_sum_and_average():
    assert compose([PureDP("0.1"), PureDP("0.2"), PureDP("0.3")]).basic().epsilon == Fraction(6, 10)


def test_a_hundred_steps():
    """k = 100, epsilon 0.1: basic 10; keeping the parts does better than advanced composition's 5.756."""
    total = PureDP("0.1") * 100
    assert total.basic().epsilon == 10
    assert total.epsilon_at("1e-6") < 5.756105519335732


def test_linearised_pure_dp_is_not_approximate_dp():
    """e^1 = 2.718 against 1 + 1 = 2: a mechanism with ratio e at one point is pure DP with epsilon 1, not with ln 2."""
    assert math.exp(PureDP(1).epsilon) == 2.718281828459045
    assert PureDP(1).delta_at(Fraction(math.log(2))) > 0.1
    assert PureDP(1).delta_at(1) == 0


def test_triangle_inequality_of_concentrated_dp():
    """Going through a third law: (sqrt a + sqrt b)^2 = 0.09899 against the weaker 2(a+b) = 0.1."""
    a, b = 0.02, 0.03
    assert (math.sqrt(a) + math.sqrt(b)) ** 2 == pytest.approx(0.09898979485566356, abs=1e-12)
    assert (math.sqrt(a) + math.sqrt(b)) ** 2 <= 2 * (a + b) == pytest.approx(0.1)
    # Adding rho is about two releases of the same data, another matter: there rho adds exactly.
    assert compose([ZCDP("0.02"), ZCDP("0.03")]).zcdp().rho == Fraction(5, 100)


def test_propose_test_release_adds_its_two_halves():
    test, answer = ApproxDP("0.5", "1e-6"), PureDP("0.5")
    assert compose([test, answer]).basic() == ApproxDP(1, "1e-6")
