"""Float bounds of the weights, and the exact coins and choices made from them."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dither.exact.balls import ball, bounds
from dither.mechanisms.probabilities import nearest
from dither.mechanisms.weights import choose, flip, weights_of

RATES = [Fraction(1, 3), Fraction(7, 5), Fraction(40), Fraction(1000), Fraction(1, 10**9 + 7), Fraction(1, 10**30)]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(RATES),
    st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1), st.integers(0, 10**40)), min_size=1, max_size=6),
)
def test_the_bounds_hold_the_weight(rate, gaps):
    array = np.array(gaps, np.int64 if max(gaps) < 2**63 else object)
    weights = weights_of(array, rate)
    for gap, low, high in zip(gaps, weights.lower, weights.upper, strict=True):
        if rate * gap > 2000:
            assert low == 0 < high
            continue
        under, over = bounds(lambda gap=gap: (-ball(rate * gap)).exp())
        assert Fraction(float(low)) <= over
        assert under <= Fraction(float(high))
        assert rate * gap > 63 or high / low < 1 + 2e-5


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 10**7)])
def test_adding_a_constant_to_the_scores_changes_nothing(rate):
    # Gaps are all that enters; far gaps are bounded, not dropped.
    near, far = weights_of(np.array([0, 5]), rate), weights_of(np.array([0, 5, 10**15]), rate)
    assert (near.upper == far.upper[:2]).all()
    assert far.lower[2] == 0 < far.upper[2]


def constant(words):
    def fill(array):
        array[:] = np.array(words, np.uint64)

    return fill


def test_a_coin_is_decided_by_the_bits_of_one_number():
    """The uniform number 0.01010101... = 1/3: below p = 1/3 exactly if later bits fall short of the pattern."""
    third = Fraction(1, 3)
    word = int(third * 2**64)
    low, high = np.array([0.3333]), np.array([0.3334])

    def coin(words, learn):
        return bool(flip(low, high, lambda _: ball(third), constant([words]), learn)[0])

    zeros, ones = (lambda: (32, 0)), (lambda: (32, 2**32 - 1))
    assert coin(word, zeros)
    assert not coin(word, ones)
    assert coin(word - 1, ones)
    assert not coin(word + 1, zeros)


def test_float_bounds_decide_what_they_can_and_nothing_else():
    asked = []

    def exactly(i):
        asked.append(i)
        return ball(Fraction(1, 2))

    words = [0, 2**62, 2**63 - 1, 2**63, 3 * 2**62, 2**64 - 1]
    low, high = np.full(6, 0.5 - 1e-9), np.full(6, 0.5 + 1e-9)
    assert flip(low, high, exactly, constant(words)).tolist() == [True, True, True, False, False, False]
    assert set(asked) == {2, 3}


def test_heads_are_counted_exactly_over_all_short_words():
    """Every 10-bit start of the uniform number once: heads number floor(p 2^10), plus the one word that p splits."""
    probability = Fraction(300, 1024) + Fraction(1, 4096)
    words = np.arange(1024, dtype=np.uint64) << np.uint64(54)
    ends = [float(probability)] * 1024
    exact = flip(np.array(ends), np.array(ends), lambda _: ball(probability), constant(words))
    # Each word stands for its smallest number: those below p are 0..300.
    assert exact.sum() == 301


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_a_choice_is_among_the_candidates_and_prefers_the_best(size):
    gaps = np.zeros(size, np.int64)
    gaps[1:] = 10**6
    assert (choose(weights_of(gaps, Fraction(1)), 50) == 0).all()


def test_gaps_of_any_size():
    gaps = np.array([10**50, 0, 10**50 + 1], object)
    assert (choose(weights_of(gaps, Fraction(1, 10**48)), 200) == 1).all()
    even = choose(weights_of(np.array([0, 10**30, 1], object), Fraction(1, 10**40)), 3000)
    assert (np.bincount(even) > 700).all()


def test_without_float_bounds_everything_is_decided_exactly():
    """Bounds that say nothing leave all coins to the balls; the law stays the same."""
    sharp = weights_of(np.array([0, 1, 2]), Fraction(1))
    vague = dataclasses.replace(sharp, lower=np.zeros(3), upper=np.full(3, 2.0))
    law = np.exp([0.0, -1, -2])
    for weights in (sharp, vague):
        seen = np.bincount(choose(weights, 4000), minlength=3)
        assert stats.chisquare(seen, law / law.sum() * 4000).pvalue > 1e-12
    assert stats.chisquare(seen, np.full(3, 4000 / 3)).pvalue < 1e-12


def test_a_number_without_an_enclosure_is_an_error():
    with pytest.raises(ArithmeticError):
        nearest(lambda: [ball(1) / ball(0)])


def test_upper_bounds_decide_nothing_that_is_open():
    """Where nothing is known from below, only what lies above a weight's own bound is refused unseen."""
    gaps, rate = np.array([0, 1, 3]), Fraction(1, 2)
    weights = weights_of(gaps, rate)
    seen = np.bincount(choose(replace(weights, lower=np.zeros(3)), 6000), minlength=3)
    law = np.exp(-gaps * float(rate))
    assert stats.chisquare(seen, 6000 * law / law.sum()).pvalue > 1e-9
