"""Numbers of owners by their rows, without what is only noise, and what lies between two powers of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SURE, _APART = 4.0, 7.0  # a number of owners above so many noise scales is taken for what it is
_LONGEST_TAIL = 0.5  # from one power of two to the next, beyond what the noise lets us see
_HIDDEN = 1.0  # noise scales that the next number may be larger than it looks
_FITTED, _MOST_WEIGHT = 4, 28.0
_NOBODY = 0.02  # a number of owners that stands for none, where logarithms are taken


@dataclass(frozen=True)
class Smoothed:
    """Owners at each power of two, by how much that may be off (one deviation), and how many powers are sure.

    Those beyond the sure ones follow from one curve, so all of them are too many or too few together.
    """

    owners: Floats
    doubt: Floats
    sure: int


def smooth(noisy: Floats, scale: float) -> Smoothed:
    """Beyond the last number that is sure, owners are expected to fall off along a parabola through the logarithms of
    the last sure ones, and no more slowly than to what the noise could hide; each is then weighed against the noisy
    one. What is expected of such a tail may be off by as much as it is.
    """
    owners, doubt = np.maximum(noisy, 0.0), np.full(len(noisy), math.sqrt(2) * scale)
    sure = _sure(noisy, scale)
    if not len(sure):
        return Smoothed(owners, doubt, len(noisy))
    last = int(sure[-1])
    beyond = np.arange(last + 1, len(owners))
    if len(beyond):
        hidden = (owners[last + 1] + _HIDDEN * scale) / owners[last]
        slowest = owners[last] * hidden ** (beyond - last)
        expected = np.maximum(np.minimum(_falling(noisy, sure, scale, beyond), slowest), 1e-9)
        trust = expected**2 / (expected**2 + 2 * scale**2)
        owners[beyond] = np.maximum(0.0, expected + trust * (noisy[beyond] - expected))
        doubt[beyond] = expected * np.sqrt(1 - trust)
    return Smoothed(owners, doubt, last + 1)


def _sure(noisy: Floats, scale: float) -> NDArray[np.intp]:
    """Where there are owners for sure: a number that stands apart from the others must be larger for that."""
    seen = noisy > _SURE * scale
    apart = np.append(False, ~seen[:-1]) & (np.arange(len(noisy)) > np.argmax(noisy))
    return np.flatnonzero(seen & ~(apart & (noisy <= _APART * scale)))


def _falling(noisy: Floats, sure: NDArray[np.intp], scale: float, beyond: NDArray[np.intp]) -> Floats:
    near = sure[sure > sure[-1] - _FITTED]
    logs, weights = np.log(noisy[near]), np.minimum(noisy[near] / scale, _MOST_WEIGHT)
    at = near - sure[-1]
    for degree in range(min(2, len(near) - 1), -1, -1):
        found = np.zeros(3)
        found[2 - degree :] = np.polyfit(at, logs, degree, w=weights)
        if found[0] <= 0:  # a tail does not flatten out
            break
    found[1] = min(found[1], math.log(_LONGEST_TAIL))
    return np.asarray(np.exp(np.maximum(np.polyval(found, beyond - sure[-1]), -50.0)))


def having_at_least(owners: Floats, edges: Floats, rows: Floats) -> Floats:
    """How many owners have at least so many rows, if `owners[j]` have from edges[j] up to below edges[j + 1].

    Log-odds over the logarithm of rows are joined by monotone cubics: they are nearly straight for most spreads.
    """
    reached = np.append(np.cumsum(owners[::-1])[::-1], 0.0)
    everybody = max(reached[0], _NOBODY)
    odds = np.log(np.maximum(reached, _NOBODY)) - np.log(np.maximum(everybody - reached, 0.5))
    found = everybody / (1 + np.exp(-_monotone(np.log(edges), odds, np.log(rows))))
    return np.where(rows <= edges[0], everybody, np.where(rows >= edges[-1], 0.0, found))


def _monotone(at: Floats, values: Floats, wanted: Floats) -> Floats:
    """Cubic pieces with Fritsch and Butland's slopes (1984): between two values there is nothing beyond them."""
    gaps = np.diff(at)
    rise = np.diff(values) / gaps
    slopes = np.concatenate([rise[:1], np.zeros(len(rise) - 1), rise[-1:]])
    for place in range(1, len(rise)):
        before, after = rise[place - 1], rise[place]
        if before * after > 0:
            one, other = 2 * gaps[place] + gaps[place - 1], gaps[place] + 2 * gaps[place - 1]
            slopes[place] = (one + other) / (one / before + other / after)
    piece = np.clip(np.searchsorted(at, wanted, side="right") - 1, 0, len(gaps) - 1)
    t, gap = (wanted - at[piece]) / gaps[piece], gaps[piece]
    left = (1 + 2 * t) * (1 - t) ** 2 * values[piece] + t * (1 - t) ** 2 * gap * slopes[piece]
    right = t**2 * (3 - 2 * t) * values[piece + 1] + t**2 * (t - 1) * gap * slopes[piece + 1]
    return np.asarray(left + right)
