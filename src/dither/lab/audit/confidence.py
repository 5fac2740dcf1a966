"""Exact confidence bounds of a probability from independent trials (Clopper and Pearson 1934), rounded outward."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

# The inverse of the incomplete beta function is good to about 1e-12; bounds are moved outward by much more than that.
_SLACK = 1e-9


def at_least(count: Any, trials: int, error: float) -> Reals:
    """With probability at least 1 - error the true probability is at or above this, whatever it is.

    The lower bound is the p at which `count` or more successes have probability `error`; it is 0 for count 0.
    """
    from scipy.special import betaincinv

    found = np.atleast_1d(np.asarray(count, dtype=np.float64))
    with np.errstate(all="ignore"):
        bound = betaincinv(found, trials - found + 1, error) * (1 - _SLACK)
    return np.where(found > 0, np.clip(bound, 0.0, 1.0), 0.0)


def at_most(count: Any, trials: int, error: float) -> Reals:
    """With probability at least 1 - error the true probability is at or below this, whatever it is."""
    from scipy.special import betainccinv

    found = np.atleast_1d(np.asarray(count, dtype=np.float64))
    with np.errstate(all="ignore"):
        bound = betainccinv(found + 1, trials - found, error) * (1 + _SLACK)
    return np.where(found < trials, np.clip(bound, 0.0, 1.0), 1.0)


def roughly_at_least(count: Reals, trials: int, deviations: float) -> Reals:
    """Quick, for choosing among many events: the same to a few per cent, and never relied on."""
    found = np.asarray(count, dtype=np.float64)
    half = deviations**2 / 2
    return np.maximum(0.0, found + half - deviations * np.sqrt(found * (1 - found / trials) + half / 2)) / (
        trials + 2 * half
    )


def roughly_at_most(count: Reals, trials: int, deviations: float) -> Reals:
    """Quick, for choosing among many events: the same to a few per cent, and never relied on."""
    found = np.asarray(count, dtype=np.float64)
    half = deviations**2 / 2
    return np.minimum(
        1.0, (found + half + deviations * np.sqrt(found * (1 - found / trials) + half / 2)) / (trials + 2 * half)
    )
