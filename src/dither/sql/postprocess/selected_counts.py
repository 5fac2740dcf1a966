"""Intervals of the noisy counts that chose which keys are shown: they hold among the keys shown.

A key is shown where T + Z, its owners and their noise, reach the threshold t. Given that, P(T + Z >= v) is
S(v - T) / S(t - T) with S(k) = P(Z >= k). It rises with T, since the noise is log-concave, and P(T + Z <= v), which is
1 - S(v + 1 - T) / S(t - T), falls. The interval has all T for which neither is below half of what may be missed: of
any T it misses just the outcomes in two tails that have at most that probability, given that the key is shown.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import KeySelection, Laplace

Floats = NDArray[np.float64]

_SLACK = 1e-9, 1e-13  # relative and absolute: more than the error of the float operations below
_WIDEST = 2**50  # counts are floats here, exact far beyond this


def ends_if_shown(
    counts: NDArray[Any], selection: KeySelection, missed: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each noisy count of a key that is shown, between which numbers its owners are, given that it is shown.

    The count itself is always between them. A key of nobody is never shown.
    """
    noisy = np.clip(np.asarray(counts, dtype=np.float64), selection.threshold, _WIDEST)
    most = noisy + float(math.ceil(selection.noise.error(1 - missed / 4))) + 1
    tail = float(missed) / 2
    limit = tail * (1 - _SLACK[0]) - _SLACK[1]

    def above(owners: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.exp(_beyond(selection, noisy, owners)) > limit)

    def below(owners: Floats) -> NDArray[np.bool_]:
        return np.asarray(-np.expm1(_beyond(selection, noisy + 1, owners)) > limit)

    return _first(above, np.ones_like(noisy), noisy), _last(below, noisy, most)


def _beyond(selection: KeySelection, noisy: Floats, owners: Floats) -> Floats:
    """The logarithm of P(T + Z >= noisy), given that T + Z reaches the threshold."""
    return _log_tail(selection, noisy - owners) - _log_tail(selection, selection.threshold - owners)


def _log_tail(selection: KeySelection, k: Floats) -> Floats:
    """The logarithm of P(Z >= k): q^k / (1 + q) from 1 on, what is left of 1 below; of a Gaussian from k - 1/2 on."""
    noise = selection.noise
    if not isinstance(noise, Laplace):
        from scipy.special import log_ndtr  # most answers do without

        return np.asarray(log_ndtr(-(k - 0.5) / float(noise.scale)), dtype=np.float64)
    rate = 1 / float(noise.scale)
    whole = math.log1p(math.exp(-rate))
    over = -rate * np.maximum(k, 1.0) - whole
    under = np.log1p(-np.exp(-rate * (1 - np.minimum(k, 0.0)) - whole))
    return np.where(k >= 1, over, under)


def _first(holds: Any, low: Floats, high: Floats) -> NDArray[np.int64]:
    """The least whole numbers that hold, where all above do up to `high`, which does."""
    low, high = low.copy(), high.copy()
    while bool((low < high).any()):
        middle = np.floor((low + high) / 2)
        found = holds(middle)
        low, high = np.where(found, low, np.minimum(middle + 1, high)), np.where(found, middle, high)
    return np.asarray(high, dtype=np.int64)


def _last(holds: Any, low: Floats, high: Floats) -> NDArray[np.int64]:
    """The greatest whole numbers that hold, where all below do; `low` does, or is taken, and `high` does not."""
    low, high = low.copy(), high.copy()
    while bool((high - low > 1).any()):
        middle = np.floor((low + high) / 2)
        found = holds(middle) | (high - low <= 1)
        low, high = np.where(found & (high - low > 1), middle, low), np.where(found, high, middle)
    return np.asarray(low, dtype=np.int64)
