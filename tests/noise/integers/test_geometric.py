"""The geometric law begins at 0, whichever way it is drawn."""

from __future__ import annotations

import pytest

from dither.noise.integers.geometric import geometric


@pytest.mark.parametrize("scale", [20, 200, 1000, 50_000])
def test_the_smallest_draw_is_zero_and_as_frequent_as_it_should_be(scale):
    """Of 100 scale draws about 100 are 0, and about as many are 1: by chance never below 20 nor above 250."""
    draws = geometric(scale, 100 * scale)
    assert draws.min() == 0
    assert 20 <= (draws == 0).sum() <= 250
    assert 20 <= (draws == 1).sum() <= 250


def test_single_draws_begin_at_zero():
    drawn = [geometric(2) for _ in range(200)]
    assert min(drawn) == 0
    assert max(drawn) > 2
