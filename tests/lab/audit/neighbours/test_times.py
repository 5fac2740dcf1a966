"""The time of a draw as a channel."""

from __future__ import annotations

import dither as dt
from dither import noise


def by_trials():
    """Planted bug: one coin for each unit of noise."""
    value = 0
    while noise.uniform_below(10):
        value += 1
    return value


def test_a_sampler_that_counts_trials_is_caught_and_ours_is_not():
    assert not any(dt.audit.timing(by_trials, draws=2000) for _ in range(3))
    assert any(dt.audit.timing(lambda: noise.discrete_laplace(10), draws=4000) for _ in range(3))


def test_releases_are_timed_by_their_value():
    mechanism = dt.Laplace(epsilon=1, sensitivity=1)
    found = dt.audit.timing(lambda: mechanism.release(0), draws=200)
    assert found.draws == 200
    assert "correlation" in str(found)


def test_noise_that_never_varies_has_no_correlation():
    assert dt.audit.timing(lambda: 3, draws=100).correlation == 0
