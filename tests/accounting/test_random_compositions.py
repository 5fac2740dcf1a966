"""Random compositions, the same in every run: no exception, bounds in order, none above a trivial one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from random_compositions import check

COUNT, CHUNK = 2000, 100


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_random_compositions(first):
    narrow = [check(seed)[0] for seed in range(first, first + CHUNK)]
    assert sum(narrow) >= 0.96 * CHUNK


def test_a_bound_that_says_too_much_is_caught(monkeypatch):
    """Planted: an upper bound twice as large as it should be is above a trivial one somewhere."""
    from dither.accounting.composition.composition import Composition

    honest = Composition.bounds_at

    def doubled(self, **ask):
        low, high = honest(self, **ask)
        return low, 2 * high

    monkeypatch.setattr(Composition, "bounds_at", doubled)
    with pytest.raises(AssertionError):
        list(map(check, range(200)))
