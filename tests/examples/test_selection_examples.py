"""Worked examples of selection and of tests of stability."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt


def test_food_counts(example):
    """A full histogram needs scale 50; the name of the winner only 10 under add_remove, 20 under replace."""
    given, expected = example.given, example.expected
    likes = list(given.rows.values())
    counts = [dt.stats.count([row[i] == 1 for row in likes], epsilon=500).value for i in range(len(given.items))]
    assert counts == expected.counts
    sensitivity, price = dt.sensitivity.counts(len(given.items)), str(given.eps)
    assert sensitivity.l1 == expected.L1_sensitivity
    assert dt.Laplace(epsilon=price, sensitivity=sensitivity).scale == expected.histogram_scale
    monotone = dt.NoisyMax(epsilon=price, sensitivity=sensitivity, monotone=True)
    assert monotone.scale == expected.noisy_max_scale_add_remove
    assert dt.NoisyMax(epsilon=price, sensitivity=1, relation="replace").scale == expected.noisy_max_scale_replace
    with pytest.raises(dt.RelationMismatch):
        dt.NoisyMax(epsilon=price, sensitivity=1, monotone=True, relation="replace")
    assert dt.stats.vote(likes, candidates=given.items, epsilon=1000).value == "Milk"


def test_food_exponential(example):
    mechanism = dt.Exponential(epsilon=str(example.given.eps), sensitivity=1)
    assert mechanism.probabilities(example.given.scores) == example.near(example.expected.p)


def test_ab_exponential(example):
    given = example.given
    mechanism = dt.Exponential(epsilon=given.eps, sensitivity=given.sensitivity)
    found = mechanism.probabilities({"A": given.count_A, "B": given.count_B})
    assert found == example.near({"A": example.expected.p_A, "B": example.expected.p_B})


def test_ab_wrong_bound(example):
    """The theorem's bound, the sharper one, and the exact probability."""
    given, expected = example.given, example.expected
    mechanism = dt.Exponential(epsilon=given.eps, sensitivity=1)
    assert mechanism.probabilities({"A": 0, "B": given.c})["A"] == example.near(expected.exact)
    assert mechanism.error(Fraction(1 - expected.bound), candidates=2) == example.near(given.c)
    assert mechanism.error(Fraction(1 - expected.sharper), candidates=2, optimal=2) == example.near(given.c)
    assert expected.exact < expected.sharper < expected.bound
    monotone = dt.Exponential(epsilon=given.eps, sensitivity=1, monotone=True)
    assert monotone.probabilities({"A": 0, "B": given.c})["A"] == example.near(1 / (1 + math.exp(given.c * given.eps)))


def test_em_utility(example):
    """ln(|R|/|R_opt|) is the stronger form, ln|R| the weaker corollary."""
    given = example.given
    mechanism = dt.Exponential(epsilon=given.eps, sensitivity=given.sensitivity)
    sure = Fraction(1 - math.exp(-given.t))
    assert mechanism.error(sure, candidates=given.R, optimal=given.R_opt) == example.near(example.expected.gap_refined)
    assert mechanism.error(sure, candidates=given.R) == example.near(example.expected.gap_plain)


def test_tshirt(example, fine):
    """The largest class is a name; its size is a second release with its own budget, shifted upward."""
    given = example.given
    chosen = dt.Exponential(epsilon=1, sensitivity=1).release(given.sizes)
    assert chosen.value in given.sizes
    assert not hasattr(chosen, "scale")
    head_count = dt.Laplace(epsilon=given.eps_count, sensitivity=1, grid=fine)
    # Short with probability at most beta on one side is half of a two-sided 2 beta.
    shift = head_count.error(1 - 2 * Fraction(str(given.beta)))
    assert float(shift) == pytest.approx(example.expected.upward_shift, abs=2e-12)
    assert dt.compose([chosen.guarantee, head_count.guarantee]).basic().epsilon == 2


def test_d2i_threshold(example):
    """Continuous noise: 13.8155 spends half of delta, 13.1224 all of it. Whole distances: publish iff d + X >= 14."""
    given, expected = example.given, example.expected
    step = Fraction(1, 10**12)  # of a distance counted in so small steps that noise is continuous
    for delta, threshold in ((expected.p0_notes, expected.notes), (expected.p0_exact, expected.exact)):
        fine = dt.StableRelease(epsilon=step * int(given.eps), delta=str(delta))
        assert float(fine.threshold * step) == pytest.approx(threshold, abs=2e-12)
        assert float(fine.published(0)[1]) == example.near(delta)
    whole = dt.StableRelease(epsilon=given.eps, delta=str(given.delta))
    assert whole.threshold == 14
    assert whole.published(0)[1] <= Fraction(1, 10**6) < whole.published(1)[0]


def test_ptr_budget(example):
    """0.5 for the test and 0.5 for the answer; the textbook threshold spends half of delta."""
    given, expected = example.given, example.expected
    total, delta = 2 * Fraction(given.eps), str(given.delta)
    mechanism = dt.ProposeTestRelease(epsilon=total, delta=delta, bound=1, grid=1)
    assert mechanism.test.epsilon == mechanism.answer.epsilon == Fraction(given.eps)
    assert mechanism.guarantee == dt.ApproxDP(str(expected.eps_total), str(expected.delta_total))
    step = Fraction(1, 10**12)
    textbook = dt.ProposeTestRelease(epsilon=2 * step, delta=str(expected.delta_exact), bound=1, grid=1)
    assert float(textbook.threshold * step) == pytest.approx(math.log(1 / given.delta), abs=2e-12)


def test_private_local_sensitivity(example, fine):
    """A shift of 21.64 for continuous noise, 22 whole steps for discrete noise."""
    given, expected = example.given, example.expected
    price = {"epsilon": Fraction(given.eps1) + Fraction(given.eps2), "delta": str(given.delta), "slope": 1}
    mechanism = dt.BoundedLocalSensitivity(**price, grid=1)
    assert mechanism.guarantee == dt.ApproxDP(str(expected.eps_total), str(expected.delta_total))
    assert mechanism.answer_epsilon == Fraction(given.eps2)
    smooth = dt.BoundedLocalSensitivity(**price, grid=fine)
    assert float(smooth.shift) == example.near(expected.shift)
    assert mechanism.shift == 22
    outcome = mechanism.release(1000, local_sensitivity=given.LS)
    assert outcome.scale == outcome.bound / Fraction(given.eps2)
