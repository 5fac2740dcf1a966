"""Uniform integers: every value exactly as often as every other."""

from __future__ import annotations

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.noise import uniform_below
from dither.noise.integers.uniform import each_below, many_below, one_below


def test_every_word_is_used_once_or_drawn_again():
    taken = []
    for word in range(8):
        words = [word, 0]

        def source(bits, words=words):
            assert bits == 3
            return words.pop(0)

        value = one_below(6, source)
        if len(words) == 1:
            taken.append(value)
    assert taken == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("bound", "bits", "width"), [(6, 3, 32), (1 << 16, 16, 32), ((1 << 40) - 1, 40, 64)])
def test_arrays_take_the_top_bits_and_draw_again_what_is_too_large(bound, bits, width):
    tops = [0, 1, bound - 1, (1 << bits) - 1]
    rounds = [[top << (width - bits) for top in tops], [5 << (width - bits)] * 4]

    def fill(array):
        assert array.dtype.itemsize * 8 == width
        array[:] = rounds.pop(0)[: array.size]

    expected = [0, 1, bound - 1, bound - 1 if bound == 1 << bits else 5]
    assert many_below(bound, 4, fill).tolist() == expected


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, (1 << 32) + 1, 1 << 63, (1 << 63) + 1, 10**40])
def test_draws_are_below_any_bound(bound):
    one, many, none = uniform_below(bound), uniform_below(bound, 50), uniform_below(bound, 0)
    assert isinstance(one, int)
    assert 0 <= one < bound
    assert all(0 <= value < bound for value in many.tolist())
    assert many.dtype == (np.int64 if bound <= 1 << 63 or max(many) < 1 << 63 else object)
    assert none.shape == (0,)
    assert bound < 1000 or len(set(many.tolist())) > 30


@pytest.mark.parametrize("bound", [0, -1, 1.5, "7", True, None])
def test_other_bounds_are_refused(bound):
    with pytest.raises(ParameterError):
        uniform_below(bound)


BOUNDS = [1, 2, 3, 6, 1 << 16, (1 << 40) - 1, (1 << 53) + 1, (1 << 54) - 1, (1 << 62) - 1, 1 << 53]


def test_each_bound_takes_the_top_bits_of_words_of_its_own():
    """Every bound has a word in every round until it is small enough; a bound of 1 takes none."""
    bounds = np.array(BOUNDS)
    rounds = []

    def fill(array):
        assert array.dtype == np.uint64
        # All ones in the first round: below a bound only if that is a power of two. Then zeros.
        array[:] = 0 if rounds else (1 << 64) - 1
        rounds.append(array.size)

    ones = [bound - 1 if bound & (bound - 1) == 0 else 0 for bound in BOUNDS]
    assert each_below(bounds, fill).tolist() == ones
    assert rounds == [9, 6]


@pytest.mark.parametrize("bound", [2, 3, 5, 6, 7, 8])
def test_each_value_below_a_bound_has_as_many_words(bound):
    """All words of the bits that a bound needs, once each: every value comes once, the others are drawn again."""
    bits = (bound - 1).bit_length()
    rounds = []

    def fill(array):
        words = np.zeros(array.size, np.uint64) if rounds else np.arange(array.size, dtype=np.uint64)
        array[:] = words << np.uint64(64 - bits)
        rounds.append(array.size)

    assert each_below(np.full(1 << bits, bound), fill).tolist() == [*range(bound), *[0] * ((1 << bits) - bound)]
    assert rounds == [1 << bits] + [(1 << bits) - bound] * (bound < 1 << bits)


def test_bounds_beyond_words():
    bounds = np.array([1, 7, 10**30, 1 << 64], object)
    found = [each_below(bounds) for _ in range(30)]
    assert all(0 <= value < bound for one in found for value, bound in zip(one.tolist(), bounds.tolist(), strict=True))
    assert len({int(one[2]) for one in found}) == 30
    assert each_below(bounds[:0]).size == each_below(np.zeros(0, np.int64)).size == 0
