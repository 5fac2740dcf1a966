"""The coin exp(-x), exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact.balls import ball
from dither.noise import bernoulli_exp
from dither.noise.integers.bernoulli import coins_below, exp_minus, is_below
from dither.noise.lazy_uniform import LazyUniform


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(5), Fraction(40)])
def test_every_path_of_8_bit_words_has_exactly_the_probability(x, script, bit_leaves, certified):
    low = high = Fraction(0)
    for word in range(256):

        def run(bits, word=word):
            source = script([word << 24], bits)
            return bool(coins_below(exp_minus(x), 1, source.fill, 8, source.learn)[0])

        for bits, heads in bit_leaves(run, 10):
            low += Fraction(heads is True, 256 << len(bits))
            high += Fraction(heads is not False, 256 << len(bits))
    exact_low, exact_high = certified(lambda: (-ball(x)).exp())
    assert low <= exact_low <= exact_high <= high
    assert high - low <= Fraction(2, 256 << 9)


def test_a_threshold_too_close_to_a_word_for_the_usual_precision():
    close = lambda: ball(Fraction(1, 2)) - ball(Fraction(1, 1 << 300))  # noqa: E731
    words = iter([np.array([0x7FFFFFFF, 0x80000000, 0x7FFFFFFE], np.uint32)])

    def fill(array):
        array[:] = next(words)

    assert coins_below(close, 3, fill, learn=lambda: (1, 0)).tolist() == [True, False, True]


def test_single_coins_compare_a_lazy_number(script):
    assert is_below(LazyUniform(0, 8, script().learn), exp_minus(Fraction(1)))
    assert not is_below(LazyUniform(255, 8, script().learn), exp_minus(Fraction(1)))
    # exp(-1) = 0.01011110 00101101...
    assert is_below(LazyUniform(0b01011110, 8, script(bits=[0, 0, 0]).learn), exp_minus(Fraction(1)))
    assert not is_below(LazyUniform(0b01011110, 8, script(bits=[0, 1, 0]).learn), exp_minus(Fraction(1)))


@pytest.mark.parametrize("size", [None, 0, 1000])
def test_extremes(size):
    sure, never = bernoulli_exp(0, size), bernoulli_exp(10**299, size)
    assert np.all(sure)
    assert not np.any(never)
    assert size is None or (sure.dtype == bool and sure.shape == (size,))
    assert size is not None or (sure is True and never is False)


@pytest.mark.parametrize("x", [-1, "-1/3", float("nan"), True])
def test_negative_exponents_are_refused(x):
    with pytest.raises(ParameterError):
        bernoulli_exp(x)
