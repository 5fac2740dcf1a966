"""Gaussian noise on Poisson samples: brackets hold 200-bit integrals and are narrow over the whole range of use."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from dither.accounting import GDP, PLD, PureDP, compose
from dither.accounting.pld.sampled.sampled_gaussian import subsampled_gaussian_distribution
from dither.exact.balls import precision

BITS = 200


def number(value):
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def tail(x):
    return (x / arb(2).sqrt()).erfc() / 2


def one_step(sigma, rate, epsilon, added):
    """The divergence of one release at any real epsilon, from its definition on the better side of the border."""
    if added:
        rest = (-epsilon).expm1() + rate
        if not rest > 0:
            return arb(0)
        border = sigma * (rest / rate).log() + 1 / (2 * sigma)
        inside, moved = tail(-border), tail(1 / sigma - border)
        return inside - epsilon.exp() * ((1 - rate) * inside + rate * moved)
    rest = epsilon.expm1() + rate
    if not rest > 0:
        return -epsilon.expm1()
    border = sigma * (rest / rate).log() + 1 / (2 * sigma)
    return (1 - rate) * tail(border) + rate * tail(border - 1 / sigma) - epsilon.exp() * tail(border)


def two_steps(sigma, rate, epsilon, added, panels=30, nodes=30):
    """The first step's outcome integrated out, up to its kink and from there on; good to far more than 20 digits."""
    sigma, rate, epsilon = number(sigma), number(rate), number(epsilon)
    sign = -1 if added else 1

    def loss(x):
        return sign * (1 - rate + rate * (x / sigma - 1 / (2 * sigma * sigma)).exp()).log()

    kink = (sign * (epsilon - sign * (1 - rate).log())).exp() - 1 + rate
    cuts = [arb(-14), 14 + 1 / sigma]
    if kink > 0:
        at = sigma * (kink / rate).log() + 1 / (2 * sigma)
        cuts = [cuts[0], at, cuts[1]] if cuts[0] < at < cuts[1] else cuts
    rule = [arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]
    total = arb(0)
    for start, end in itertools.pairwise(cuts):
        half = (end - start) / (2 * panels)
        for panel in range(panels):
            for x, weight in rule:
                y = start + half * (2 * panel + 1 + x)
                lost = loss(y)
                density = (-y * y / 2).exp() / (2 * arb.pi()).sqrt() * (1 if added else lost.exp())
                total += half * weight * density * one_step(sigma, rate, epsilon - lost, added)
    return total.mid()


CASES = [("0.5", "1e-5"), ("0.5", "1e-3"), (1, "1e-4"), (1, "0.01"), (4, "0.5"), (20, "1e-3")]


@pytest.mark.parametrize(("sigma", "rate"), CASES)
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12", "1e-200"])
def test_one_step_has_its_closed_form(sigma, rate, delta):
    pld = PLD.subsampled_gaussian(sigma, rate)
    low, high = pld.bounds_at(delta=delta)
    assert high - low <= 1e-11 * high
    with precision(BITS):
        for epsilon, above in ((low, True), (high, False)):
            truth = max(one_step(number(sigma), number(rate), number(Fraction(epsilon)), a) for a in (False, True))
            assert truth > number(delta) * (1 - arb("1e-12")) if above and low else not truth > number(delta)
    low, high = pld.bounds_at(epsilon="0.01")
    with precision(BITS):
        truth = max(one_step(number(sigma), number(rate), number("0.01"), a) for a in (False, True))
        assert number(Fraction(low)) <= truth * (1 + arb("1e-15")) <= number(Fraction(high)) * (1 + arb("1e-14"))


@pytest.mark.parametrize(("sigma", "rate"), CASES)
def test_two_steps_against_200_bits(sigma, rate):
    pld = (PLD.subsampled_gaussian(sigma, rate) * 2).privacy_loss()
    for delta in ("1e-6",):
        low, high = pld.bounds_at(delta=delta)
        assert high - low <= 1e-3 * high
        with precision(BITS):
            ends = [[two_steps(sigma, rate, Fraction(e), a) for a in (False, True)] for e in (low, high)]
            assert max(ends[1]) <= number(delta) <= max(ends[0])
        at = pld.bounds_at(epsilon=low)
        with precision(BITS):
            assert number(Fraction(at[0])) <= max(ends[0]) <= number(Fraction(at[1]))
        assert at[1] - at[0] <= 3e-3 * at[1]


@pytest.mark.parametrize("sigma", ["0.5", 1, 4, 20])
@pytest.mark.parametrize("rate", ["1e-5", "1e-3", "0.02", "0.5"])
@pytest.mark.parametrize(("count", "delta"), [(3, "1e-6"), (100, "1e-12"), (10**4, "1e-6"), (10**6, "1e-3")])
def test_brackets_are_narrow_over_the_range_of_use(sigma, rate, count, delta):
    low, high = (PLD.subsampled_gaussian(sigma, rate) * count).privacy_loss().bounds_at(delta=delta)
    assert low <= high
    assert high - low <= 1e-3 * high


def test_the_brackets_of_small_rates_that_no_tilt_fits():
    """Few large losses among many small ones: each step costs almost nothing, but for once in a million."""
    for rate, count, delta, truth in (("1e-4", 100, "1e-6", 0.0055630), ("1e-4", 1000, "1e-6", 0.014894)):
        low, high = (PLD.subsampled_gaussian(1, rate) * count).bounds_at(delta=delta)
        assert low <= truth <= high
        assert high - low <= 1e-3 * high


def test_sampled_gaussian():
    pld = (PLD.subsampled_gaussian(1, "0.01") * 10_000).privacy_loss()
    low, high = pld.bounds_at(delta="1e-6")
    assert 6.906 < low <= high < 6.909
    everyone = PLD.subsampled_gaussian(2, 1)
    assert everyone.epsilon_at("1e-6") == GDP("0.5").epsilon_at("1e-6")
    nearly = PLD.subsampled_gaussian(2, "0.999999")
    assert nearly.epsilon_at("1e-6") == pytest.approx(everyone.epsilon_at("1e-6"), rel=1e-3)
    for sigma, rate in ((1, "0.5"), ("0.7", "0.1"), (5, "0.02"), (1, "1e-9"), ("0.05", "0.01"), (1000, "0.9999")):
        low, high = (PLD.subsampled_gaussian(sigma, rate) * 30).bounds_at(delta="1e-5")
        assert low <= high <= low * 1.001
        assert high <= (GDP(1 / Fraction(sigma)) * 30).epsilon_at("1e-5")


def test_sampled_and_other_steps_together():
    parts = [PLD.subsampled_gaussian(1, "1e-3") * 50, PureDP("0.01") * 3, GDP("0.05")]
    low, high = compose(parts).bounds_at(delta="1e-6")
    assert 0 < low <= high <= low * 1.001
    alone = compose(parts[1:]).bounds_at(delta="1e-6")
    assert low > alone[0]
    assert high < alone[1] + compose(parts[:1]).bounds_at(delta="1e-7")[1] + 0.5


@pytest.mark.parametrize(("sigma", "rate"), [(1, "0.01"), ("0.5", "1e-5"), (20, "0.5"), (2, "0.999"), ("0.2", "0.1")])
@pytest.mark.parametrize("added", [False, True])
def test_transforms_are_as_good_as_they_say(sigma, rate, added):
    """Every value of the panels within its stated error of a 200-bit integral on complex balls."""
    distribution = subsampled_gaussian_distribution(Fraction(sigma), Fraction(rate))
    distribution = (distribution.swapped() if added else distribution).trimmed(math.log(1e-12))
    before = ctx.prec
    ctx.prec = BITS
    try:
        s, q = number(sigma), number(rate)

        def whole(z):
            def density(x, _):
                base = 1 - q + q * (x / s - 1 / (2 * s * s)).exp()
                return (base.log() * (-z if added else z + 1) - x * x / 2).exp() / (2 * arb.pi()).sqrt()

            cuts = np.linspace(distribution.start, distribution.end, 16)
            return sum((acb.integral(density, float(a), float(b)) for a, b in itertools.pairwise(cuts)), acb(0))

        spread = abs(float(np.diff(distribution._loss(np.array([distribution.start, distribution.end]))[0])[0]))
        for theta in (0.3 / spread, 20 / spread):
            cumulant, wrong = distribution.cumulant(np.array([theta]))
            base = whole(acb(arb(theta)))
            assert abs(float((base.real.log() - arb(float(cumulant[0]))).mid())) <= float(wrong[0])
            times = np.arange(400) * (0.7 / spread)
            value, error = distribution.ratio(theta, times)
            for n in (0, 1, 17, 130, 399):
                off = abs(whole(acb(arb(theta), arb(float(times[n])))) / base - acb(value[n].real, value[n].imag))
                assert float(off.upper()) <= np.broadcast_to(error, times.shape)[n] <= 1e-9
    finally:
        ctx.prec = before
