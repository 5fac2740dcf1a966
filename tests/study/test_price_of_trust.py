"""The price of trust: errors by the definition, and what a study is worth beside the local model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nbinom

from dither.mechanisms import LocalHashing, RandomizedResponse
from dither.study import price_of_trust


def test_errors_are_those_of_the_distributions() -> None:
    found = list(price_of_trust(1000, "0.7").values())
    one = nbinom.pmf(np.arange(200), 1, -math.expm1(-0.7))
    numbers = np.arange(200)
    variance = 2 * ((numbers**2 * one).sum() - (numbers * one).sum() ** 2)
    assert found[0] == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found[1] == pytest.approx(math.sqrt(2 * variance), rel=1e-12)
    shares = RandomizedResponse(epsilon="0.7").estimate([0, 1] * 500)
    assert found[3] == pytest.approx(1000 * math.sqrt(shares.variances[0]), rel=1e-12)
    assert found[1] < found[2] < found[3]


def test_a_study_beside_a_curator_and_beside_the_local_model() -> None:
    """At most the root of two times a curator's error; of 10,000 participants at least twenty times below the local."""
    central, study, _, local = price_of_trust(10_000, 1).values()
    assert study <= math.sqrt(2) * central * (1 + 1e-12)
    assert local > 20 * study
    # A choice among 100 moves two counts: its noise has twice the scale, and the local model its best mechanism.
    q = math.exp(-1 / 2)
    assert 10_000 * math.sqrt(LocalHashing(epsilon=1, values=range(100)).variance(10_000)) > 20 * 2 * math.sqrt(q) / (
        1 - q
    )
