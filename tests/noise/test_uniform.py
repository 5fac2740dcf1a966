"""Uniform integers: every value exactly as often as every other."""

from __future__ import annotations

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.noise import uniform_below
from dither.noise.uniform import many_below, one_below


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
