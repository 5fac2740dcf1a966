"""How rows are spread over owners and values over rows, as far as a released profile tells.

Everything here is an estimate for choosing between plans: no guarantee rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.sql.expressions import Numeric, Stored
from dither.sql.planner.profile import RANKS, Profile, RowsPerOwner

Floats = NDArray[np.float64]

_POINTS = 8  # numbers of rows that stand for all those between two powers of two
_SURE = 3.0  # a number of owners above so many noise scales is taken for what it is
_LONGEST_TAIL = 0.5  # from one power of two to the next, beyond what the noise lets us see


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

    def lost(self, most: float) -> float:
        """Rows beyond the first `most` of each owner."""
        return float(np.maximum(self.rows - most, 0.0) @ self.weights)

    def shift(self, most: float) -> float:
        """How far an average over rows moves if each owner keeps `most` rows at most, in standard deviations.

        Root of the sum over owners of (share of all rows - share of kept rows)^2: for values that do not depend on how
        many rows an owner has.
        """
        kept = np.minimum(self.rows, most)
        gone = self.rows / self.total - kept / max(1.0, float(kept @ self.weights))
        return float(np.sqrt(gone**2 @ self.weights))


def _smooth(noisy: Floats, scale: float) -> Floats:
    """Numbers of owners without what is only noise: beyond the last sure one they fall off as the last ones did."""
    owners = np.maximum(noisy, 0.0)
    sure = np.flatnonzero(noisy > _SURE * scale)
    if not len(sure):
        return owners
    last = int(sure[-1])
    fall = _LONGEST_TAIL
    if last and owners[last - 1] > 0:
        fall = float(np.clip(owners[last] / owners[last - 1], 0.01, _LONGEST_TAIL))
    for place in range(last + 1, len(owners)):
        owners[place] = min(owners[place - 1] * fall, owners[place] + _SURE * scale)
    return owners


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
