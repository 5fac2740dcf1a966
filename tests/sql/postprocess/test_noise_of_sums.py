"""Sums of many noises stay within what is said, by the exact distribution of the noise really drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms import Gaussian, Laplace
from dither.sql.postprocess import noise_of_sums
from dither.sql.postprocess.noise_of_sums import reach_of_terms

MISSED = Fraction(1, 20)


def chances(mechanism: Laplace | Gaussian, reach: int) -> np.ndarray:
    """P(noise = k) for k from -reach to reach."""
    steps = np.arange(-reach, reach + 1)
    if isinstance(mechanism, Laplace):
        q = math.exp(-1 / float(mechanism.scale_steps))
        return (1 - q) / (1 + q) * q ** np.abs(steps)
    scale = float(mechanism.sigma_steps) * math.sqrt(2)
    return np.array([(math.erfc((k - 0.5) / scale) - math.erfc((k + 0.5) / scale)) / 2 for k in steps])


def missed(terms: list[tuple[Laplace | Gaussian, int]], width: float) -> float:
    """P(|sum of factor times noise| > width), by convolution."""
    whole = np.ones(1)
    for mechanism, factor in terms:
        one = chances(mechanism, 400)
        spread = np.zeros(800 * abs(factor) + 1)
        spread[:: abs(factor)] = one
        whole = np.convolve(whole, spread)
    values = np.arange(len(whole)) - len(whole) // 2
    return float(whole[np.abs(values) > width].sum())


LAPLACE = Laplace(epsilon="0.5", sensitivity=1)
WIDE = Laplace(epsilon="0.1", sensitivity=1)
NORMAL = Gaussian(rho="0.01", sensitivity=1)
CASES = {
    "one": [(LAPLACE, 1)],
    "one times three": [(LAPLACE, 3)],
    "a difference": [(LAPLACE, 1), (LAPLACE, -1)],
    "many": [(LAPLACE, 1)] * 12,
    "many wide": [(WIDE, 1)] * 5,
    "mixed scales": [(LAPLACE, 1), (WIDE, 1), (WIDE, -1)],
    "mixed factors": [(LAPLACE, 1), (LAPLACE, 2), (LAPLACE, 5)],
    "normal": [(NORMAL, 1)] * 7,
    "normal times": [(NORMAL, 1), (NORMAL, -3)],
}


@pytest.mark.parametrize("name", CASES)
def test_it_holds_and_is_not_far_too_wide(name: str) -> None:
    terms = CASES[name]
    width = reach_of_terms([(mechanism, float(factor)) for mechanism, factor in terms], MISSED)
    assert width is not None
    assert missed(terms, width) <= float(MISSED)
    assert missed(terms, width / 2) > float(MISSED)


def test_planted_widths_of_one_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_of_sums, "_of_gaussians", lambda used, missed: 1.96 * noise_of_sums._scale(used[0][0][0]))
    noise_of_sums._reach.cache_clear()
    width = reach_of_terms([(NORMAL, 1.0)] * 7, MISSED)
    noise_of_sums._reach.cache_clear()
    assert width is not None
    assert missed([(NORMAL, 1)] * 7, width) > float(MISSED)


def test_kinds_that_are_not_known_together() -> None:
    assert reach_of_terms([(LAPLACE, 1.0), (NORMAL, 1.0)], MISSED) is None
    assert reach_of_terms([], MISSED) == 0
    assert reach_of_terms([(LAPLACE, 0.0)], MISSED) == 0
