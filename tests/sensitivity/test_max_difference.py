"""max - min against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from dither.sensitivity import brute_force, max_difference


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_every_dataset(n):
    domain = (0, 1, 3, 4, 7)
    space = brute_force.Space(lambda x: x[-1] - x[0], domain)
    for x in brute_force.datasets(domain, n):
        assert max_difference.value(x, 0, 7) == x[-1] - x[0]
        assert max_difference.local(x, 0, 7) == space.local(x)


def test_arrays():
    x = np.array([80_000, 50_000, 70_000, 15_000, 60_000])
    assert max_difference.value(x, 10_000, 100_000) == 65_000
    assert max_difference.local(x, 10_000, 100_000) == 35_000
    assert max_difference.local(x.astype(float), 10_000, 100_000) == 35_000
