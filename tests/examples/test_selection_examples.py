"""Worked examples of selection, stability tests and key selection, through the public names."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt

ROWS = {
    "Frank": [1, 0, 1, 1, 1],
    "Tom": [0, 1, 0, 1, 1],
    "Jacky": [0, 0, 1, 0, 1],
    "Ross": [1, 1, 0, 0, 0],
    "Monica": [1, 1, 0, 1, 1],
}
ITEMS = ["Salad", "BBQ", "Noodle", "Rice", "Milk"]
COUNTS = dict(zip(ITEMS, map(sum, zip(*ROWS.values(), strict=True)), strict=True))
FINE = Fraction(1, 10**6)  # a grid on which discrete noise is continuous noise to six digits


def test_food_counts():
    """A full histogram needs scale 50; the name of the winner only 10 under add_remove, 20 under replace."""
    assert list(COUNTS.values()) == [3, 3, 2, 3, 4]
    sensitivity = dt.sensitivity.counts(5)
    assert sensitivity.l1 == 5
    assert dt.Laplace(epsilon=0.1, sensitivity=sensitivity).scale == 50
    assert dt.NoisyMax(epsilon=0.1, sensitivity=sensitivity, monotone=True).scale == 10
    assert dt.NoisyMax(epsilon=0.1, sensitivity=1, relation="replace").scale == 20
    with pytest.raises(dt.RelationMismatch):
        dt.NoisyMax(epsilon=0.1, sensitivity=1, monotone=True, relation="replace")
    assert dt.NoisyMax(epsilon=1000, sensitivity=1).release(COUNTS).value == "Milk"


def test_food_exponential():
    found = dt.Exponential(epsilon=0.1, sensitivity=1).probabilities(COUNTS)
    third = 0.1999000291607646
    expected = [third, third, 0.19015078969627008, third, 0.2101491228214362]
    assert list(found) == ITEMS
    assert list(found.values()) == pytest.approx(expected, abs=1e-15)


def test_two_ballots_for_b():
    found = dt.Exponential(epsilon=1, sensitivity=1).probabilities({"A": 0, "B": 2})
    assert found == pytest.approx({"A": 0.2689414213699951, "B": 0.7310585786300049}, abs=1e-16)


def test_bound_of_the_wrong_winner():
    """count(A) = 0, count(B) = 10: the theorem's bound, the sharper one, and the exact probability."""
    mechanism = dt.Exponential(epsilon=0.5, sensitivity=1)
    bound, exact, sharper = 0.1641699972477976, 0.07585818002124355, 0.0820849986238988
    assert mechanism.probabilities({"A": 0, "B": 10})["A"] == pytest.approx(exact, abs=1e-15)
    assert mechanism.error(Fraction(1 - bound), candidates=2) == pytest.approx(10, abs=1e-12)
    assert mechanism.error(Fraction(1 - sharper), candidates=2, optimal=2) == pytest.approx(10, abs=1e-12)
    assert exact < sharper < bound
    monotone = dt.Exponential(epsilon=0.5, sensitivity=1, monotone=True)
    assert monotone.probabilities({"A": 0, "B": 10})["A"] == pytest.approx(1 / (1 + math.exp(5)), abs=1e-15)


def test_utility_with_several_best_candidates():
    """ln(|R|/|R_opt|) is the stronger form, ln|R| the weaker corollary."""
    mechanism, sure = dt.Exponential(epsilon=1, sensitivity=1), Fraction(1 - math.exp(-2))
    assert mechanism.error(sure, candidates=10, optimal=4) == pytest.approx(5.83258146374831, abs=1e-12)
    assert mechanism.error(sure, candidates=10) == pytest.approx(8.605170185988092, abs=1e-12)


def test_t_shirts():
    """The largest class is a name; its size is a second release with its own budget, shifted upward by 2.3026."""
    sizes = {"A": 50, "B": 47}
    chosen = dt.Exponential(epsilon=1, sensitivity=1).release(sizes)
    assert chosen.value in sizes
    assert not hasattr(chosen, "scale")
    head_count = dt.Laplace(epsilon=1, sensitivity=1, grid=FINE)
    # One-sided: short with probability at most 0.05 is half of a two-sided 0.1.
    assert float(head_count.error("0.9")) == pytest.approx(2.302585092994046, abs=2e-6)
    total = dt.compose([chosen.guarantee, head_count.guarantee])
    assert total.basic().epsilon == 2


def test_name_and_shame():
    mechanism = dt.NameAndShame(delta=0.001)
    stated = mechanism.guarantee
    assert (stated.epsilon, stated.delta, stated.relation) == (0, Fraction(1, 1000), dt.Relation.REPLACE)
    assert mechanism.expected(1000) == 1
    assert mechanism.any_exposed(1000) == pytest.approx(0.6323045752290363, abs=1e-15)
    assert dt.NameAndShame(delta=Fraction(20, 1000)).expected(1000) == 20
    with pytest.raises(dt.RelationMismatch):
        dt.NameAndShame(delta=0.001, relation="add_remove")
    with pytest.raises(dt.ParameterError, match="counterexample=True"):
        mechanism.release(["a", "b"])


def test_threshold_of_the_distance():
    """Continuous noise: 13.8155 spends half of delta, 13.1224 all of it. Discrete noise: publish iff d + X >= 14."""
    mechanism = dt.StableRelease(epsilon=1, delta="1e-6")
    assert mechanism.threshold == 14
    assert mechanism.published(0)[1] <= Fraction(1, 10**6) < mechanism.published(1)[0]
    notes, exact = math.log(1e6), math.log(1 / 2e-6)
    assert (notes, exact) == pytest.approx((13.815510557964274, 13.122363377404328), abs=1e-12)
    # The same thresholds at a fine grid of distances: epsilon per step is small there.
    fine = dt.StableRelease(epsilon=FINE, delta="1e-6")
    assert fine.threshold * float(FINE) == pytest.approx(exact, abs=2e-6)
    assert float(fine.published(0)[1]) == pytest.approx(1e-6, rel=1e-5)
    half = dt.StableRelease(epsilon=FINE, delta="5e-7")
    assert half.threshold * float(FINE) == pytest.approx(notes, abs=2e-6)
    assert float(half.published(0)[1]) == pytest.approx(5e-7, rel=1e-5)


def test_propose_test_release_budget():
    """0.5 for the test and 0.5 for the answer: (1, 1e-6) in all."""
    mechanism = dt.ProposeTestRelease(epsilon=1, delta="1e-6", bound=1, grid=1)
    assert mechanism.test.epsilon == mechanism.answer.epsilon == Fraction(1, 2)
    assert mechanism.guarantee == dt.ApproxDP(1, "1e-6")
    spent = mechanism.published(0)[1]
    assert Fraction(6, 10**7) < spent <= Fraction(1, 10**6)
    # The textbook threshold ln(1/delta)/epsilon with continuous noise spends half of delta.
    fine = dt.ProposeTestRelease(epsilon=2 * FINE, delta="5e-7", bound=1, grid=1)
    assert fine.threshold * float(FINE) == pytest.approx(math.log(1e6), abs=2e-6)


def test_private_local_sensitivity():
    """epsilon1 = 0.5, delta = 1e-5: a shift of 21.64 for continuous noise, 22 whole steps for discrete noise."""
    mechanism = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1)
    assert mechanism.shift == 22
    assert mechanism.guarantee == dt.ApproxDP(1, "1e-5")
    assert mechanism.answer_epsilon == Fraction(1, 2)
    smooth = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=Fraction(1, 2**20))
    assert float(smooth.shift) == pytest.approx(21.639556568820566, abs=1e-5)
    outcome = mechanism.release(1000, local_sensitivity=7)
    assert outcome.scale == outcome.bound / Fraction(1, 2)
