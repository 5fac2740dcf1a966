"""How rows are spread over owners and values over rows, as far as a released profile tells.

Everything here is an estimate for choosing between plans: no guarantee rests on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.sql.expressions import Numeric, Stored
from dither.sql.planner.profile import RANKS, Profile, RowsPerOwner

Floats = NDArray[np.float64]

_POINTS = 8  # numbers of rows that stand for all those between two powers of two
_SURE, _APART = 3.0, 5.0  # a number of owners above so many noise scales is taken for what it is
_LONGEST_TAIL = 0.5  # from one power of two to the next, beyond what the noise lets us see
_HIDDEN = 2.0  # noise scales that the next number may be larger than it looks
_CAREFUL = 2.0
_FITTED, _MOST_WEIGHT = 4, 28.0


@dataclass(frozen=True)
class Owners:
    """So many owners (`weights`) have so many rows."""

    rows: Floats
    weights: Floats

    @classmethod
    def of(cls, found: RowsPerOwner, most: int) -> Owners:
        owners = _smooth(np.asarray(found.owners, dtype=np.float64), found.scale)
        after = np.append(owners[1:], 0.0)
        fall = np.clip(after / np.maximum(owners, 1e-9), 0.05, 2.0)
        steps = (np.arange(_POINTS) + 0.5) / _POINTS
        weights = fall[:, None] ** steps[None, :]
        weights *= (owners / weights.sum(axis=1))[:, None]
        rows = np.minimum(np.floor(2.0 ** (np.arange(len(owners))[:, None] + steps[None, :])), most)
        return cls(rows.ravel(), weights.ravel())

    @property
    def total(self) -> float:
        """All rows."""
        return max(1.0, float(self.rows @ self.weights))

    def lost(self, most: float | Floats) -> Floats:
        """Rows beyond the first `most` of each owner, for one number or for each of several."""
        kept = np.asarray(most, dtype=np.float64)[..., None]
        return np.asarray(np.maximum(self.rows - kept, 0.0) @ self.weights)

    def shift(self, most: float | Floats) -> Floats:
        """How far an average over rows moves if each owner keeps `most` rows at most, in standard deviations.

        Root of the sum over owners of (share of all rows - share of kept rows)^2: for values that do not depend on how
        many rows an owner has.
        """
        kept = np.minimum(self.rows, np.asarray(most, dtype=np.float64)[..., None])
        gone = self.rows / self.total - kept / np.maximum(1.0, kept @ self.weights)[..., None]
        return np.asarray(np.sqrt(gone**2 @ self.weights))


def _smooth(noisy: Floats, scale: float) -> Floats:
    """Numbers of owners without what is only noise.

    Beyond the last number that is sure, they are expected to fall off along a parabola through the logarithms of the
    last sure ones, and no more slowly than to what the noise could hide; each is then weighed against the noisy one.
    Too many owners cost a little noise, too few much bias: so twice as many as the parabola says are expected.
    """
    owners = np.maximum(noisy, 0.0)
    sure = _sure(noisy, scale)
    if not len(sure):
        return owners
    last = int(sure[-1])
    beyond = np.arange(last + 1, len(owners))
    if not len(beyond):
        return owners
    hidden = (owners[last + 1] + _HIDDEN * scale) / owners[last]
    slowest = owners[last] * hidden ** (beyond - last)
    expected = np.maximum(np.minimum(_CAREFUL * _falling(noisy, sure, scale, beyond), slowest), 1e-9)
    trust = expected**2 / (expected**2 + 2 * scale**2)
    owners[beyond] = np.maximum(0.0, expected + trust * (noisy[beyond] - expected))
    return owners


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


@dataclass(frozen=True)
class Values:
    """Values that stand for those of all rows, each as frequent as the others, in the units of the value."""

    points: Floats

    @classmethod
    def of(cls, value: Numeric, profile: Profile | None) -> Values:
        """By the profile of a stored column; of anything else, evenly over what its bounds allow."""
        low, high = (float(end) for end in value.bounds)
        known = profile.columns.get(value.name) if profile is not None and isinstance(value, Stored) else None
        at = (np.arange(32) + 0.5) / 32
        if known is None:
            return cls(low + at * (high - low))
        ranks = np.array([0.0, *map(float, RANKS), 1.0])
        ends = np.maximum.accumulate(np.clip(np.array([low, *known.values, high], dtype=np.float64), low, high))
        return cls(np.interp(at, ranks, ends))

    @property
    def mean_size(self) -> float:
        return max(1e-9, float(np.abs(self.points).mean()))

    @property
    def spread(self) -> float:
        return max(1e-9, float(self.points.std()))
