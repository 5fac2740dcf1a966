"""Worked examples told with the one-call statistics: the study of smokers, the shirts, the favourite food."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dither as dt


def test_the_share_of_smokers_with_cancer_is_published_without_betraying_alice():
    smokes, cancer = [1, 0, 1], [1, 1, 0]
    answers = {
        alice: dt.stats.ratio([*cancer, alice[1]], [*smokes, alice[0]], epsilon=500).value
        for alice in ((0, 0), (0, 1), (1, 0), (1, 1))
    }
    # Exact ratios: 2/3 proves that Alice smokes and has cancer.
    assert answers[1, 1] == pytest.approx(2 / 3)
    assert {answers[0, 0], answers[0, 1]} == {0.5}
    assert answers[1, 0] == pytest.approx(1 / 3)
    private = dt.stats.ratio([*cancer, 1], [*smokes, 1], epsilon=1)
    assert private.guarantee.epsilon == 1
    low, high = private.interval("0.95")
    assert low <= private.value <= high


def test_the_largest_class_and_a_head_count_that_is_rarely_short():
    pupils = ["A"] * 50 + ["B"] * 47
    chosen = dt.stats.mode(pupils, categories=["A", "B"], epsilon=1)
    assert chosen.value in ("A", "B")
    with pytest.raises(dt.NotPublic):
        chosen.interval()
    # The count is a second release, shifted up so that it is short at most one time in twenty.
    head_count = dt.stats.count([pupil == chosen.value for pupil in pupils], epsilon=1)
    shift = 3  # the smallest whole number above ln(10) = 2.303, what continuous noise would need
    short = np.mean([dt.stats.count(np.ones(50, bool), epsilon=1).value + shift < 50 for _ in range(3000)])
    assert short < 0.05
    assert dt.compose([chosen.guarantee, head_count.guarantee]).basic().epsilon == 2


def test_repeating_is_ten_times_the_price():
    answers = [dt.stats.count([True] * 5, epsilon="0.1") for _ in range(10)]
    assert dt.compose([answer.guarantee for answer in answers]).basic().epsilon == 1
    assert dt.stats.count([True], epsilon=1).scale == answers[0].scale / 10


def test_food():
    likes = [[1, 0, 1, 1, 1], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1], [1, 1, 0, 0, 0], [1, 1, 0, 1, 1]]
    items = ["Salad", "BBQ", "Noodle", "Rice", "Milk"]
    assert dt.stats.vote(likes, candidates=items, epsilon="0.1").value in items
    assert dt.stats.vote(likes, candidates=items, epsilon=1000).value == "Milk"
    assert dt.sensitivity.counts(5).l1 == Fraction(5)
