"""What the tests of statistics share."""

from __future__ import annotations

import numpy as np
import pytest

FEWEST_DRAWS = 400  # fewer could not tell an interval that covers far too seldom


@pytest.fixture
def covered():
    """Whether so many successes of so many trials can come from a probability of at least p (false alarm 1e-7)."""
    from scipy.stats import binom

    def decide(successes, trials, p):
        if trials < FEWEST_DRAWS:
            raise ValueError(f"{trials} draws say too little about coverage; make at least {FEWEST_DRAWS}.")
        return bool(binom.cdf(successes, trials, p) > 1e-7)

    return decide


@pytest.fixture
def salaries():
    return np.random.default_rng(7).lognormal(10, 1, 5000)
