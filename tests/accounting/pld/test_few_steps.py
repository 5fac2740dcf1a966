"""A few equal steps in floats: the truth, from definitions at 200 bits, lies inside every bracket."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from flint import acb, arb

from dither.accounting import PLD, PureDP
from dither.accounting.pld import curve
from dither.accounting.pld.closed_forms import ContinuousLaplace, TwoPoint
from dither.accounting.pld.few_steps import laplace_delta, laplace_epsilon, responses_epsilon
from dither.exact.balls import precision


def number(value):
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def responses_delta(epsilon, count, at):
    """sum (p - e^at q)_+ over the number of wrong responses."""
    e, level = number(epsilon), number(at).exp()
    right, wrong = 1 / (1 + (-e).exp()), 1 / (1 + e.exp())
    total = arb(0)
    for k in range(count + 1):
        ways = arb(math.comb(count, k))
        gain = ways * (right ** (count - k) * wrong**k - level * wrong ** (count - k) * right**k)
        total += gain if gain > 0 else 0
    return total


def laplace_truth(epsilon, count, at):
    """E[(1 - e^(-2(d - S)))_+] near the top: of the noises, j are positive, and their sum is a gamma variable."""
    d = (count * number(epsilon) - number(at)) / 2
    total = 1 - (-2 * d).exp()
    for j in range(1, count + 1):

        def payoff(g, _, j=j):
            return g ** (j - 1) * (-g).exp() / math.factorial(j - 1) * (1 - (-2 * (acb(d) - g)).exp())

        total += math.comb(count, j) * acb.integral(payoff, 0, acb(d)).real
    return total / arb(2) ** count


def random_steps(seed, largest):
    generator = random.Random(seed)
    epsilon = Fraction(10) ** generator.randint(-4, 1) * Fraction(generator.randint(1, 99), 33)
    return epsilon, generator.randint(1, largest), Fraction(generator.randint(1, 9), 10 ** generator.randint(1, 30))


@pytest.mark.parametrize("exponent", [150, 165, 173, 200, 280])
@pytest.mark.parametrize("epsilon", ["0.0001", "0.13", "2"])
def test_many_responses_at_a_delta_that_falls_below_floats_when_scaled(epsilon, exponent):
    delta = Fraction(27, 10 ** (exponent + 1))
    low, high = (PureDP(epsilon) * 1000).bounds_at(delta=delta)
    with precision(2000):
        assert responses_delta(epsilon, 1000, low) >= number(delta)
        assert responses_delta(epsilon, 1000, high) <= number(delta)
    assert high - low <= 1e-3 * high


@pytest.mark.parametrize("seed", range(60))
def test_responses_enclose_the_truth(seed):
    epsilon, count, delta = random_steps(seed, 400 if seed % 2 else 12)
    found = responses_epsilon(epsilon, count, delta)
    if found is None:  # floats could not tell: the exact way answers, or the transform does
        found = (PLD.pure(epsilon) * count).bounds_at(delta=delta)
    low, high = found
    assert 0 <= low <= high <= count * epsilon * (1 + Fraction(1, 10**15))
    with precision(400):
        assert not responses_delta(epsilon, count, Fraction(high)) > number(delta)
        assert low == 0 or not responses_delta(epsilon, count, Fraction(low)) < number(delta)
        # and the check has power
        if high > 0:
            assert responses_delta(epsilon, count, Fraction(high) * (1 - Fraction(1, 1000))) > number(delta)


@pytest.mark.parametrize("seed", range(40))
def test_laplace_encloses_the_truth(seed):
    generator = random.Random(seed)
    count = generator.randint(1, 14)
    epsilon = Fraction(10) ** generator.randint(-3, 0) * Fraction(generator.randint(1, 99), 33)
    # where the closed form applies: d up to eps
    delta = Fraction(1, 2**count) * min(epsilon, Fraction(1)) * Fraction(generator.randint(1, 99), 100)
    found = laplace_epsilon(epsilon, count, delta)
    with precision(200):
        if found is not None:
            low, high = found
            assert high - low <= 1e-8 * high
            assert not laplace_truth(epsilon, count, Fraction(high)) > number(delta)
            if low > 0:
                assert not laplace_truth(epsilon, count, Fraction(low)) < number(delta)
                assert laplace_truth(epsilon, count, Fraction(high) * (1 - Fraction(1, 10**7))) > number(delta)
        at = epsilon * count - 2 * epsilon * Fraction(generator.randint(1, 99), 100)
        if at >= 0:
            low, high = laplace_delta(epsilon, count, at)
            truth = laplace_truth(epsilon, count, at)
            assert not number(Fraction(low)) > truth
            assert not number(Fraction(high)) < truth
            assert high - low <= 1e-9 * high


def test_the_closed_forms_are_taken_where_they_should_be():
    assert laplace_epsilon(Fraction(1, 100), 10, Fraction(1, 10**6)) is not None
    assert laplace_epsilon(Fraction(1), 10, Fraction(1, 10**6)) is not None
    assert responses_epsilon(Fraction(1, 100), 10, Fraction(1, 10**6)) is not None
    assert responses_epsilon(Fraction(1, 10), 1000, Fraction(1, 10**6)) is not None
    assert responses_epsilon(Fraction(1), 1000, Fraction(999, 1000)) is not None


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 100), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("count", [1, 3, 10, 40])
@pytest.mark.parametrize("delta", [Fraction(1, 10**4), Fraction(1, 10**8), Fraction(1, 10**14)])
def test_closed_forms_and_transforms_agree(epsilon, count, delta):
    """Two ways that share no formula: their brackets overlap."""
    for distribution, quick in ((ContinuousLaplace(epsilon), laplace_epsilon), (TwoPoint(epsilon), responses_epsilon)):
        found = quick(epsilon, count, delta)
        (above, below), *_ = curve.sums(((distribution, count),), Fraction(0))
        low, high = curve._one_epsilon(above, below, delta, 0.0, [])
        if found is not None:
            assert found[0] <= high
            assert low <= found[1]


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"),
    [
        (Fraction(1, 10**295), 3, Fraction(1, 10**6)),
        (Fraction(400), 3, Fraction(1, 10**6)),
        (Fraction(1), 1001, Fraction(1, 10**6)),
        (Fraction(1), 3, Fraction(1, 10**295)),
        (Fraction(1, 10**12), 9, Fraction(1, 10**13)),
    ],
)
def test_what_floats_cannot_tell_is_told_another_way(epsilon, count, delta):
    assert responses_epsilon(epsilon, count, delta) is None
    low, high = (PureDP(epsilon) * count).bounds_at(delta=delta)
    assert 0 <= low <= high <= count * epsilon * (1 + Fraction(1, 10**12))


def test_nothing_is_left_at_a_large_delta():
    assert responses_epsilon(Fraction(1, 10), 4, Fraction(9, 10)) == (0.0, 0.0)
    assert laplace_delta(Fraction(1, 10), 4, Fraction(1, 2)) == (0.0, 0.0)
    assert laplace_epsilon(Fraction(5, 11), 1, Fraction(49, 220)) == (0.0, 0.0)
    assert (PLD.laplace("0.1") * 4).bounds_at(delta="0.9") == (0.0, 0.0)
