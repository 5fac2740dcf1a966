"""Identities that hold for every guarantee, as properties: curves, Gaussians, Laplace noise, theorems in order."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, PureDP, advanced, calibrate, compose, optimal
from dither.divergence import hockey_stick
from dither.exact.balls import precision

small = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
deltas = st.sampled_from([Fraction(1, 10**k) for k in (1, 3, 6, 9, 14)])
distributions = st.lists(st.integers(0, 12), min_size=3, max_size=6).filter(any)


def stick(p, q, epsilon):
    return hockey_stick(dict(enumerate(p)), dict(enumerate(q)), epsilon=epsilon).upper


@given(distributions, distributions, st.lists(st.fractions(0, 3, max_denominator=20), min_size=2, max_size=4))
@settings(max_examples=12, deadline=None)
def test_profiles(first, second, points):
    """delta(0) is the total variation distance, delta falls, and the two orders mirror each other."""
    size = min(len(first), len(second))
    p, q = (
        [Fraction(x + 1, sum(distribution[:size]) + size) for x in distribution[:size]]
        for distribution in (first, second)
    )
    pair = PLD.from_pmf(p, q)
    variation = sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2
    low, high = pair.bounds_at(epsilon=0)
    assert low <= variation * (1 + Fraction(1, 10**12))
    assert high >= variation * (1 - Fraction(1, 10**12))
    curve = [pair.bounds_at(epsilon=point) for point in sorted(points)]
    assert all(later[0] <= earlier[1] for earlier, later in itertools.pairwise(curve))
    for point in points:
        forward, mirrored, backward = (
            stick(p, q, point),
            1 - math.exp(point) * (1 - stick(q, p, -point)),
            stick(q, p, point),
        )
        assert forward == pytest.approx(mirrored, abs=1e-9)
        low, high = pair.bounds_at(epsilon=point)
        assert low - 1e-9 <= max(forward, backward) <= high + 1e-9


@given(small, st.integers(1, 10**6), deltas)
@settings(max_examples=40, deadline=None)
def test_many_gaussians_are_one_with_less_noise(mu, k, delta):
    many, one = GDP(mu) * k, GDP(mu_squared=mu**2 * k)
    assert many.bounds_at(delta=delta) == one.bounds_at(delta=delta)
    assert many.delta_at(1) == one.delta_at(1)


@given(st.one_of(st.just(Fraction(0)), small), st.sampled_from([Fraction(1, 10**k) for k in (1, 6, 30, 140)]))
@settings(max_examples=40, deadline=None)
def test_the_smallest_sigma_has_the_delta_it_was_made_for(epsilon, delta):
    sigma = calibrate("gaussian", ApproxDP(epsilon, delta)).noise
    reached = GDP(1 / sigma).delta_at(epsilon)
    assert 0 < reached <= float(delta) * (1 + 1e-15)
    assert reached == pytest.approx(float(delta), rel=1e-11)
    if epsilon:
        far = Fraction(1, 10**300)
        assert GDP(1 / calibrate("gaussian", ApproxDP(epsilon, far)).noise).delta_at(epsilon) == pytest.approx(1e-300)


@given(small, st.fractions(0, 1, max_denominator=50))
@settings(max_examples=25, deadline=None)
def test_one_laplace_release_has_its_closed_form(epsilon, share):
    at = epsilon * share
    truth = -math.expm1(float(at - epsilon) / 2)
    for loss in (PLD.laplace(epsilon), compose([PLD.laplace(epsilon), PureDP(0), GDP(0)])):
        low, high = loss.bounds_at(epsilon=at)
        assert low <= truth * (1 + 1e-12)
        assert high >= truth * (1 - 1e-12)
        assert high - low <= 1e-3 * high + 1e-12


@given(small, st.integers(0, 2000), deltas)
@settings(max_examples=40, deadline=None)
def test_theorems_in_order(epsilon, k, delta):
    basic, best = epsilon * k, optimal(epsilon=epsilon, k=k, at=delta)
    assert best.upper <= float(basic) * (1 + 1e-15)
    assert best.upper <= float(advanced(epsilon=epsilon, k=k, delta_prime=delta).epsilon) * (1 + 1e-3)
    assert optimal(epsilon=epsilon, k=k, at=0).upper == pytest.approx(float(basic), rel=1e-15)
    assert best.lower <= (PureDP(epsilon) * k).epsilon_at(delta) <= best.upper * (1 + 1e-3)


@given(st.sampled_from([Fraction(10) ** k for k in (-30, -6, -2, 0, 2, 6)]), deltas)
@settings(max_examples=30, deadline=None)
def test_conversions_in_order(rho, delta):
    exact, optimised = GDP(mu_squared=2 * rho).epsilon_at(delta), ZCDP(rho).epsilon_at(delta)
    simple = float(rho) + 2 * math.sqrt(-float(rho) * math.log(delta))
    assert exact <= optimised <= simple * (1 + 1e-12)
    assert exact <= RDP.of(GDP(mu_squared=2 * rho)).epsilon_at(delta) * (1 + 1e-12)


@given(
    pure=st.lists(small, max_size=5),
    mus=st.lists(small, max_size=4),
    lost=st.lists(st.sampled_from([Fraction(1, 10**4), Fraction(1, 10**7)]), max_size=2),
    delta=deltas,
    epsilon=st.fractions(0, 4, max_denominator=20),
)
@settings(max_examples=40, deadline=None)
def test_the_truth_lies_inside_the_bracket_of_every_mixture(reference, pure, mus, lost, delta, epsilon):
    """Different epsilons, mus and deltas together, from both sides, against 200 bits."""
    parts = [PureDP(each) for each in pure] + [GDP(mu) for mu in mus]
    paired = list(zip(lost, [Fraction(1, 3), Fraction(1, 7)], strict=False))
    plan = compose([PureDP(0), *parts, *(ApproxDP(each, gone) for gone, each in paired)])
    responses = [*pure, *(each for _, each in paired)]
    squares = sum((mu**2 for mu in mus), Fraction(0))

    def truth(at):
        return reference.exact_delta(responses, squares, at, [gone for gone, _ in paired])

    with precision(200):
        low, high = plan.bounds_at(epsilon=epsilon)
        true = truth(epsilon)
        assert not reference.number(Fraction(low)) > true
        assert not reference.number(Fraction(high)) < true - reference.number(Fraction(1, 10**40))
        low, high = plan.bounds_at(delta=delta)
        target = reference.number(delta)
        if math.isfinite(high):
            assert not truth(Fraction(high)) > target + reference.number(Fraction(1, 10**40))
        if 0 < low < math.inf:
            assert not truth(Fraction(low)) < target
