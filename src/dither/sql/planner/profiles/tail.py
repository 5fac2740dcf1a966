"""Numbers of owners by their rows, without what is only noise, and what lies between two powers of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CLEAR, _APART = 12.0, 7.0  # noise scales above which a number of owners is clear, and one that stands apart is
_LONGEST_TAIL = 0.5  # from one power of two to the next, beyond what is clear
_FITTED, _MOST_WEIGHT = 4, 28.0
_STEEPER, _BENT = 0.1, 0.08  # how much slope and bend of a tail may differ from what is clear, as deviations
_ENDS = 0.05  # how likely it is that a tail ends before a power of two
_NOBODY = 0.001  # a number of owners that stands for none, where logarithms are taken


@dataclass(frozen=True)
class Smoothed:
    """Owners at each power of two, and the covariance of how much these are off."""

    owners: Floats
    covariance: Floats


def smooth(noisy: Floats, scale: float) -> Smoothed:
    """Owners as they are where the numbers are clear of the noise, and beyond as Bayes' rule has them.

    Beforehand a tail is likely to follow the parabola through the logarithms of the last clear numbers, may be steeper
    or flatter, and may end anywhere; each such curve counts by how likely it makes the noisy numbers.
    """
    owners, covariance = np.maximum(noisy, 0.0), 2 * scale**2 * np.eye(len(noisy))
    clear = np.flatnonzero(noisy > _CLEAR * scale)
    if not len(clear):
        return Smoothed(owners, covariance)
    clear = clear[: 1 + int(np.argmax(np.append(np.diff(clear) > 1, True)))]  # up to the first gap
    last = int(clear[-1])
    beyond = np.arange(last + 1, len(noisy))
    if len(beyond):
        curves, logs = _curves(_falling(noisy, clear, scale, beyond - last))
        off = (noisy[beyond] - curves) / scale
        likely = logs - np.where(off > 0, np.minimum(off, _APART), -off).sum(axis=1)
        weights = np.exp(likely - likely.max())
        weights /= weights.sum()
        mean = weights @ curves
        rest = curves - mean
        owners[beyond] = mean
        covariance[np.ix_(beyond, beyond)] = (rest * weights[:, None]).T @ rest
        for place in beyond[noisy[beyond] - mean > _APART * scale]:
            owners[place] = noisy[place]
            covariance[place], covariance[:, place] = 0.0, 0.0
            covariance[place, place] = 2 * scale**2
    return Smoothed(owners, covariance)


def _curves(expected: Floats) -> tuple[Floats, Floats]:
    """Numbers of owners that a tail may have, a line for each curve, and the logarithm of how likely it is beforehand.

    Takes the logarithms of the numbers that are expected.
    """
    at = np.arange(1.0, len(expected) + 1)
    grid = np.linspace(-2.5, 2.5, 11)
    tilt, bend, end = (part.ravel() for part in np.meshgrid(grid, grid, np.append(at, np.inf), indexing="ij"))
    logs = expected + _STEEPER * tilt[:, None] * at + _BENT * bend[:, None] * at**2
    longest = expected[0] + _STEEPER * 2.5 + math.log(_LONGEST_TAIL) * (at - 1)
    curves = np.where(at < end[:, None], np.exp(np.clip(np.minimum(logs, longest), -50.0, 50.0)), 0.0)
    whole = math.log(max(1e-9, 1 - _ENDS * len(at)))
    return curves, -(tilt**2 + bend**2) / 2 + np.where(np.isinf(end), whole, math.log(_ENDS))


def _falling(noisy: Floats, clear: NDArray[np.intp], scale: float, steps: NDArray[np.intp]) -> Floats:
    """Logarithms of what is expected, so many steps beyond the last clear number."""
    near = clear[-_FITTED:]
    logs, weights = np.log(noisy[near]), np.minimum(noisy[near] / scale, _MOST_WEIGHT)
    at = near - near[-1]
    for degree in range(min(2, len(near) - 1), -1, -1):
        found = np.zeros(3)
        found[2 - degree :] = np.polyfit(at, logs, degree, w=weights)
        if found[0] <= 0:  # a tail does not flatten out
            break
    found[1] = min(found[1], math.log(_LONGEST_TAIL))
    return np.asarray(np.polyval(found, steps))


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
