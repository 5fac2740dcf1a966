"""Divergences against their definitions: all subsets, 200-bit sums, closed forms of mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither import divergence
from dither.accounting import PLD, advanced, azuma
from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace

masses = st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any)


def distribution(weights):
    return [Fraction(weight, sum(weights)) for weight in weights]


def subsets(size):
    return itertools.chain.from_iterable(itertools.combinations(range(size), n) for n in range(size + 1))


def test_max_divergence_must_run_over_sets():
    y, z = ["0.1"] * 10 + [0], ["0.01"] * 10 + ["0.9"]
    over_sets = divergence.approximate_max(y, z, "0.1")
    assert over_sets.lower <= math.log(9) <= over_sets.upper
    assert over_sets.upper == pytest.approx(2.1972245773362196, abs=1e-12)
    assert not any(Fraction(mass) > Fraction("0.1") for mass in y)  # so over single points there is nothing to take


def test_renyi_triangle():
    """Through a third Gaussian law: rho 0.02 and 0.03 give (sqrt a + sqrt b)^2, attained by shifts that add."""
    coefficient = (math.sqrt(0.02) + math.sqrt(0.03)) ** 2
    assert coefficient == pytest.approx(0.09898979485566356, abs=1e-12)
    a, b = math.sqrt(2 * 0.02), math.sqrt(2 * 0.03)
    assert (a + b) ** 2 / 2 == pytest.approx(coefficient, abs=1e-12)
    assert coefficient <= 2 * (0.02 + 0.03)


@given(masses, masses, st.fractions(0, 1, max_denominator=20), st.fractions(-2, 2, max_denominator=10))
@settings(max_examples=60, deadline=None)
def test_definitions_over_all_subsets(first, second, delta, epsilon):
    p, q = distribution(first), distribution(second)
    sums = [(sum(p[i] for i in s), sum(q[i] for i in s)) for s in subsets(5)]
    low, high = divergence.total_variation(p, q)
    assert low <= max(a - b for a, b in sums) <= high
    low, high = divergence.hockey_stick(p, q, epsilon)
    true = max(float(a) - math.exp(epsilon) * float(b) for a, b in sums)
    assert low - 1e-12 <= true <= high + 1e-12
    found = [math.inf if not b else math.log((a - delta) / b) for a, b in sums if a > delta]
    low, high = divergence.approximate_max(p, q, delta)
    assert low - 1e-9 <= max(found, default=-math.inf) <= high + 1e-9
    low, high = divergence.max(p, q)
    most = max((math.inf if not b else math.log(a / b) for a, b in sums if a), default=-math.inf)
    assert low - 1e-9 <= most <= high + 1e-9


@given(masses, masses)
@settings(max_examples=60, deadline=None)
def test_order_and_limits(first, second):
    p, q = distribution(first), distribution(second)
    ladder = [divergence.renyi(p, q, order) for order in ("0.5", "0.999999", "1.000001", 2, 50)]
    for before, after in itertools.pairwise([*ladder, divergence.max(p, q)]):
        assert before.lower <= after.upper
    middle = divergence.kl(p, q)
    assert ladder[1].lower <= middle.upper
    assert middle.lower <= ladder[2].upper
    if math.isfinite(middle.upper):  # Pinsker
        assert 2 * divergence.total_variation(p, q).lower ** 2 <= middle.upper + 1e-12


def test_numbers():
    p, q = {"a": "0.5", "b": "0.5"}, {"a": "0.25", "b": "0.75"}
    assert divergence.kl(p, q).upper == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert divergence.renyi(p, q, 2).upper == pytest.approx(math.log(1 + 1 / 3))
    assert divergence.kl(p, p) == (0, 0)
    assert divergence.max(p, p) == (0, 0)
    assert divergence.renyi(p, p, 3) == (0, 0)
    assert divergence.kl({"a": 1}, {"b": 1}) == (math.inf, math.inf)
    assert divergence.renyi({"a": 1}, {"b": 1}, "0.5") == (math.inf, math.inf)
    assert divergence.total_variation({"a": 1}, {"b": 1}) == (1, 1)
    assert divergence.hockey_stick({"a": 1}, {"b": 1}, 300) == (1, 1)
    assert divergence.approximate_max(["1/2", "1/2"], ["1/2", "1/2"], "0.99").lower == pytest.approx(math.log(0.01))
    assert divergence.approximate_max([1], [1], 1) == (-math.inf, -math.inf)


@pytest.mark.parametrize(
    "call",
    [
        lambda: divergence.kl(["0.5"], ["1"]),
        lambda: divergence.kl([1], ["0.5", "0.5"]),
        lambda: divergence.kl([1, 0], ["1.5", "-0.5"]),
        lambda: divergence.renyi([1], [1], 1),
        lambda: divergence.renyi([1], [1], 0),
        lambda: divergence.hockey_stick([1], [1], "nan"),
        lambda: divergence.approximate_max([1], [1], -1),
        lambda: divergence.approximate_max([1], [1], 2),
        lambda: divergence.distribution(Laplace(epsilon=1, sensitivity=1), 0, lower=-100, upper=101),
        lambda: divergence.distribution(Laplace(epsilon=1, sensitivity=1), 0, lower=3, upper=3),
    ],
)
def test_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_laws_of_mechanisms_have_the_curves_they_state():
    laplace = Laplace(epsilon=1, sensitivity=2)
    here, there = (divergence.distribution(laplace, value, lower=-30, upper=32) for value in (0, 2))
    assert divergence.max(here, there).upper == pytest.approx(1, abs=1e-6)
    for epsilon in (0, "0.3", "0.9"):
        stated = PLD.discrete_laplace(1, 2).bounds_at(epsilon=epsilon)
        found = divergence.hockey_stick(here, there, epsilon)
        assert found.upper == pytest.approx(stated[1], rel=2e-3)
        assert found.lower <= stated[1] + 1e-15
    assert divergence.kl(here, there).upper == pytest.approx(float(laplace.guarantee.zcdp().rho), abs=1e-9)
    gauss = Gaussian(rho="0.5", sensitivity=1)
    here, there = (divergence.distribution(gauss, value, lower=-12, upper=13, bits=256) for value in (0, 1))
    assert divergence.hockey_stick(here, there, 1).lower <= gauss.guarantee.delta_at(1)
    assert divergence.renyi(here, there, 2).lower <= 1


@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1, sensitivity=1), Gaussian(rho="0.05", sensitivity=1)])
@pytest.mark.parametrize("ends", [(-3, 4), (-30, 31), (-31, 12), (5, 33)])
def test_every_probability_of_a_window_is_right_to_nine_digits(mechanism, ends):
    low, high = ends
    found = divergence.distribution(mechanism, 0, lower=low, upper=high)
    assert sum(found.values()) == 1
    for out in range(low + 1, high):
        assert float(found[out]) == pytest.approx(float(mechanism.pmf(out)[1]), rel=1e-9)
    far = 200
    above = sum(mechanism.pmf(step)[0] for step in range(high, far))
    below = sum(mechanism.pmf(step)[0] for step in range(-far, low + 1))
    assert float(found[high]) == pytest.approx(float(above), rel=1e-9)
    assert float(found[low]) == pytest.approx(float(below), rel=1e-9)


@given(masses, masses, st.integers(0, 20))
@settings(deadline=None, max_examples=60)
def test_a_witness_proves_the_approximate_max_divergence(weights, others, twentieths):
    p, q, delta = distribution(weights), distribution(others), Fraction(twentieths, 20)
    found = divergence.approximate_max(p, q, delta, witness=True)
    assert found.value == divergence.approximate_max(p, q, delta)
    attained = sum(p[x] for x in found.outcomes), sum(q[x] for x in found.outcomes)
    if found.value.upper == math.inf:
        assert found.modified is None
        assert attained[1] == 0
        assert attained[0] > delta
        return
    near = divergence.total_variation(dict(enumerate(p)), found.modified)
    assert near.lower <= delta, "the modified distribution is within delta"
    assert sum(found.modified.values()) == 1
    assert divergence.max(found.modified, dict(enumerate(q))).upper <= max(0.0, found.value.upper) + 1e-12
    if found.value.upper > -math.inf:
        value = math.log(attained[0] - delta) - math.log(attained[1])
        assert found.value.lower - 1e-12 <= value <= found.value.upper + 1e-12


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 2), (2, 1), ("0.1", 3), (0, 1)])
def test_the_largest_kl_between_two_max_divergences(a, b):
    """No pair of two or three outcomes with such losses has more, and a pair of two has as much."""
    most, up, down = divergence.largest_kl(a, b), math.exp(float(Fraction(a))), math.exp(-float(Fraction(b)))
    ratios = [down + (up - down) * i / 12 for i in range(13)]
    largest = 0.0
    for low, middle, high in itertools.combinations_with_replacement(ratios, 3):
        for share in (0, 0.2, 0.5):  # of Q at the middle; the rest such that P adds up to 1
            if high - low > 1e-12:
                top = (1 - share * middle - (1 - share) * low) / (high - low)
                if 0 <= top <= 1 - share:
                    q = (1 - share - top, share, top)
                    largest = max(
                        largest, sum(x * r * math.log(r) for x, r in zip(q, (low, middle, high), strict=True))
                    )
    assert largest <= most.upper + 1e-12
    assert largest >= most.lower - 1e-12
    assert most.upper <= float(Fraction(a)) * math.expm1(float(max(Fraction(a), Fraction(b)))) + 1e-12


def test_azuma_is_what_advanced_composition_rests_on():
    losses = {"largest": "0.1", "mean": 0.1 * math.tanh(0.05), "k": 100, "failure": "1e-6"}
    found = azuma(**losses)
    assert found == pytest.approx(float(advanced(epsilon="0.1", k=100, delta_prime="1e-6").epsilon), rel=1e-12)
    # Of fair coins of +-1, 100 times: the exact probability to exceed the bound is no more than was allowed.
    bound = azuma(largest=1, mean=0, k=100, failure="0.01")
    beyond = sum(math.comb(100, heads) for heads in range(101) if 2 * heads - 100 > bound) / 2**100
    assert 0 < beyond <= 0.01
