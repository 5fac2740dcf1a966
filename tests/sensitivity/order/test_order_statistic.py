"""Ranks, by their definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither import sensitivity


@pytest.mark.parametrize("q", ["0.01", "1/3", "0.5", "2/3", "0.9", "0.99"])
def test_the_rank_of_a_quantile_is_the_smallest_that_covers_its_share(q):
    for n in range(1, 60):
        assert sensitivity.quantile(q).rank(n) == math.ceil(Fraction(q) * n)
