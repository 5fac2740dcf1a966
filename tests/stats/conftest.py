"""What the tests of statistics share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def covered():
    """Whether so many successes of so many trials can come from a probability of at least p (false alarm 1e-9)."""
    from scipy.stats import binom

    return lambda successes, trials, p: binom.cdf(successes, trials, p) > 1e-9


@pytest.fixture
def salaries():
    return np.random.default_rng(7).lognormal(10, 1, 5000)
