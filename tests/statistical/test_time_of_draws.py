"""Threat 31: how long a single draw takes tells nothing about its value."""

from __future__ import annotations

import pytest

from dither import noise
from dither.lab.audit import timing


def geometric_by_trials():
    """Planted bug: one coin for each unit of noise."""
    value = 0
    while noise.uniform_below(10):
        value += 1
    return value


@pytest.mark.parametrize(
    "draw", [noise.discrete_laplace, noise.rounded_gaussian, noise.geometric, noise.discrete_gaussian]
)
@pytest.mark.parametrize("scale", [10, 100_000])
def test_time_and_noise_are_not_correlated(draw, scale):
    draw(scale)
    # One in a thousand runs of a constant-time sampler passes 0.05 by chance; three in a row never do.
    assert any(abs(timing(lambda: draw(scale)).correlation) < 0.05 for _ in range(3))


def test_a_sampler_that_counts_trials_is_caught():
    assert all(timing(geometric_by_trials, draws=2000).correlation > 0.2 for _ in range(3))
