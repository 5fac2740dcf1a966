"""One over a count against the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.sensitivity import brute_force, reciprocal


@pytest.mark.parametrize("c", [1, 2, 3, 5])
def test_every_count(c, beta):
    space = brute_force.Space(lambda x: Fraction(1, max(len(x), c)), (0,), "add_remove", largest=30)
    for f in range(13):
        x = (0,) * f
        assert reciprocal.local(f, at_least=c) == space.local(x)
        for k in range(8):
            assert reciprocal.reach(f, k, at_least=c) == space.reach(x, k)
        assert reciprocal.smooth(f, beta, at_least=c) == space.smooth(x, beta)


@pytest.mark.parametrize("c", [1, 2, 4])
def test_distance(c):
    space = brute_force.Space(lambda x: Fraction(1, max(len(x), c)), (0,), "add_remove", largest=40)
    for bound in (0, "1/200", "1/90", "1/89", "1/20", "1/12", "1/6", "1/2", 1):
        distances = [reciprocal.distance(f, bound, at_least=c) for f in range(14)]
        assert distances == [space.distance_beyond((0,) * f, bound) for f in range(14)]


def test_without_a_floor():
    assert [reciprocal.local(f) for f in (0, 1, 2, 10)] == [math.inf, math.inf, Fraction(1, 2), Fraction(1, 90)]
    assert reciprocal.reach(5, 2) == Fraction(1, 6)
    assert reciprocal.reach(5, 4) == reciprocal.reach(5, 9) == math.inf
    # 1 / (j (j - 1)) > 1/20 up to j = 4; everything is above 0.
    assert [reciprocal.distance(f, "1/20") for f in (0, 4, 5, 9)] == [0, 0, 1, 5]
    assert reciprocal.distance(9, 0) == 0
    for f in (0, 1, 10**9):
        with pytest.raises(ValueError, match=r"infinite smooth sensitivity.*at_least"):
            reciprocal.smooth(f, 1)


def test_a_huge_count_is_quick():
    assert reciprocal.smooth(10**9, "0.1", at_least=10) == pytest.approx(1e-18, rel=1e-8)
    assert reciprocal.distance(10**9, "1e-12", at_least=10) == 10**9 - 10**6


def test_wrong_parameters():
    for count in (-1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="count"):
            reciprocal.local(count)
    for c in (0, -1, 0.5):
        with pytest.raises(ValueError, match="at_least"):
            reciprocal(at_least=c)
