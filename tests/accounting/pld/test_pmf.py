"""Releases given by their probabilities: orders chosen from the answers, and pairs that always go one way."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from dither.accounting import GDP, PLD, PureDP, compose
from dither.errors import ParameterError
from dither.exact.balls import precision

LEANING = (["0.9", "0.1"], ["0.999", "0.001"])
THREE = (["0.5", "0.3", "0.2"], ["0.4", "0.35", "0.25"])
LOSING = (["0.5", "0.499999", "0.000001"], ["0.55", "0.45", "0"])
PAIRS = [LEANING, THREE, LOSING]


def number(value):
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def exact(pair):
    return tuple([Fraction(x) for x in distribution] for distribution in pair)


def worst(pair, left, steps):
    """sup over adaptive tests and orders of P - left Q, from its definition."""
    p, q = pair

    def best(ahead, behind, more):
        if not more:
            value = ahead - left * behind
            return value if value > 0 else arb(0)
        return max(
            (sum((best(ahead * a, behind * b, more - 1) for a, b in zip(one, two, strict=True)), arb(0)))
            for one, two in ((p, q), (q, p))
        )

    return best(arb(1), arb(1), steps)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("steps", [2, 3, 5])
def test_orders_chosen_from_the_answers_against_200_bits(pair, steps):
    loss = (PLD.from_pmf(*pair) * steps).privacy_loss()
    with precision(200):
        masses = tuple([number(x) for x in distribution] for distribution in exact(pair))
    for delta in ("0.05", "1e-3"):
        low, high = loss.bounds_at(delta=delta)
        assert high - low <= 1e-3 * high
        with precision(200):
            assert not worst(masses, number(Fraction(high)).exp(), steps) > number(delta)
            assert low == 0 or not worst(masses, number(Fraction(low)).exp(), steps) < number(delta)
    for epsilon in (0, "0.3"):
        low, high = loss.bounds_at(epsilon=epsilon)
        assert high - low <= 2e-3 * high
        with precision(200):
            truth = worst(masses, number(epsilon).exp(), steps)
            assert not truth > number(Fraction(high))
            assert not truth < number(Fraction(low))


@pytest.mark.parametrize("pair", [LEANING, THREE])
@pytest.mark.parametrize("steps", [20, 100, 400])
def test_many_equal_releases_in_either_order_are_narrow(pair, steps):
    either = (PLD.from_pmf(*pair) * steps).privacy_loss().bounds_at(delta="1e-6")
    assert either[1] - either[0] <= 1e-3 * either[1]
    one_way = (PLD.from_pmf(*pair, one_sided=True) * steps).privacy_loss().bounds_at(delta="1e-6")
    assert one_way[0] <= either[1], "choosing the order can only help"
    assert either[1] >= one_way[1] * (1 - 1e-3)


def one_way_delta(pairs, at, *, swapped):
    total = {arb(0): arb(1)}.items()
    kept = arb(1)
    for p, q in pairs:
        a, b = (q, p) if swapped else (p, q)
        atoms = [((x / y).log(), x) for x, y in zip(a, b, strict=True) if x > 0 and y > 0]
        kept *= sum((mass for _, mass in atoms), arb(0))
        total = [(loss + more, mass * chance) for loss, mass in total for more, chance in atoms]
    return 1 - kept + sum((mass * (1 - (at - loss).exp()) for loss, mass in total if loss > at), arb(0))


def test_different_one_sided_pairs_against_200_bits():
    plan = [LEANING, THREE, THREE, LOSING, LEANING]
    loss = compose([PLD.from_pmf(*pair, one_sided=True) for pair in plan]).privacy_loss()
    with precision(200):
        masses = [tuple([number(x) for x in distribution] for distribution in exact(pair)) for pair in plan]
    for delta in ("0.1", "1e-3", "1e-5"):
        low, high = loss.bounds_at(delta=delta)
        assert high - low <= 1e-3 * high
        with precision(200):
            ends = [[one_way_delta(masses, number(Fraction(e)), swapped=s) for s in (False, True)] for e in (low, high)]
            assert max(ends[1], key=float) < number(delta) * (1 + arb("1e-12"))
            assert max(ends[0], key=float) > number(delta) * (1 - arb("1e-12"))


@pytest.mark.parametrize("steps", [10, 1000, 10**5])
def test_one_sided_pairs_with_rare_large_losses_are_narrow(steps):
    """A release that costs almost nothing, but for once in a million: no single tilt fits both."""
    rare, rarer = Fraction(1, 10**6), Fraction(1, 10**9)
    p = [Fraction(1, 2) - rare, Fraction(1, 2), rare]
    q = [Fraction(1, 2) - Fraction(1, 10**7) - rarer, Fraction(1, 2) + Fraction(1, 10**7), rarer]
    for delta in ("5e-4", "1e-5", "1e-8"):
        low, high = (PLD.from_pmf(p, q, one_sided=True) * steps).privacy_loss().bounds_at(delta=delta)
        assert low <= high
        assert high - low <= 1e-3 * high
    low, high = compose([PLD.from_pmf(p, q, one_sided=True) * 50, PureDP("0.01"), GDP("0.1")]).bounds_at(delta="1e-6")
    assert 0 < low <= high <= low * 1.001


def test_one_sided_is_refused_where_records_are_replaced():
    with pytest.raises(ParameterError):
        PLD.from_pmf(*THREE, "replace", one_sided=True)
    assert math.isclose(
        PLD.from_pmf(*THREE, one_sided=True).epsilon_at("1e-3"), PLD.from_pmf(*THREE).epsilon_at("1e-3"), rel_tol=1e-3
    )
