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
from dither.sql.planner.tail import Floats, having_at_least, smooth

__all__ = ["Floats", "Owners", "Values"]

_POINTS = 8  # numbers of rows that stand for all those between two powers of two
_ALIKE = 0.1  # the part of the variance of values that is between owners
_COARSE = 8
_WITHIN = 0.1  # how far the rows of owners between two powers of two may be off, relative to what lies between them


@dataclass(frozen=True)
class Owners:
    """So many owners (`weights`) have so many rows. `powers` says between which powers of two, and of each power
    `doubt` by how many owners it may be off; the errors of those beyond the first `sure` ones go together."""

    rows: Floats
    weights: Floats
    powers: NDArray[np.intp]
    doubt: Floats
    sure: int
    most: int

    @classmethod
    def of(cls, found: RowsPerOwner, most: int) -> Owners:
        smoothed = smooth(np.asarray(found.owners, dtype=np.float64), found.scale)
        powers = np.arange(len(smoothed.owners))
        steps = np.ceil(2.0 ** (powers[:, None] + np.arange(_POINTS)[None, :] / _POINTS))
        first = np.unique(np.minimum(steps, most))
        ends = np.append(first, most + 1.0)
        reached = having_at_least(smoothed.owners, np.append(2.0**powers, most + 1.0), ends)
        weights = np.maximum(reached[:-1] - reached[1:], 0.0)
        place = np.floor(np.log2(first) + 1e-9).astype(np.intp)
        return cls((first + ends[1:] - 1) / 2, weights, place, smoothed.doubt, smoothed.sure, most)

    @property
    def total(self) -> float:
        """All rows."""
        return max(1.0, float(self.rows @ self.weights))

    def lost(self, most: float | Floats) -> Floats:
        """Rows beyond the first `most` of each owner, for one number or for each of several."""
        return np.asarray(self._beyond(most) @ self.weights)

    def lost_squares(self, most: float | Floats) -> Floats:
        """The same with the square of what each owner loses: how uneven it is, if few owners lose it."""
        return np.asarray(self._beyond(most) ** 2 @ self.weights)

    def lost_doubt(self, most: float | Floats) -> Floats:
        """By how much `lost` may be off, as one standard deviation.

        The profile's noise on each number of owners; a tail that is only expected, all of it; and where between two
        powers of two owners are.
        """
        member = self.powers[:, None] == np.arange(len(self.doubt))[None, :]
        owners = np.maximum(self.weights @ member, 1e-9)
        each = (self._beyond(most) * self.weights) @ member / owners * self.doubt
        bottom = 2.0 ** np.arange(len(self.doubt))
        top = np.minimum(2 * bottom, self.most + 1.0)
        width = np.maximum(top - np.maximum(bottom, np.asarray(most, dtype=np.float64)[..., None]), 0.0)
        squares = (each[..., : self.sure] ** 2).sum(axis=-1) + each[..., self.sure :].sum(axis=-1) ** 2
        return np.asarray(np.sqrt(squares + ((_WITHIN * owners * width) ** 2).sum(axis=-1)))

    def _beyond(self, most: float | Floats) -> Floats:
        return np.maximum(self.rows - np.asarray(most, dtype=np.float64)[..., None], 0.0)

    def shift(self, most: float | Floats) -> Floats:
        """How far an average over rows moves if each owner keeps `most` rows at most, in standard deviations.

        Root of the sum over owners of (share of all rows - share of kept rows)^2: for values that do not depend on how
        many rows an owner has.
        """
        kept = np.minimum(self.rows, np.asarray(most, dtype=np.float64)[..., None])
        gone = self.rows / self.total - kept / np.maximum(1.0, kept @ self.weights)[..., None]
        return np.asarray(np.sqrt(gone**2 @ self.weights))


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
        points = np.interp(at, ranks, ends)
        mean = profile.mean(value.name) if profile is not None and isinstance(value, Stored) else None
        return cls(points if mean is None else _with_mean(points, low, high, mean[0]))

    def totals(self, rows: Floats) -> Floats:
        """Totals that stand for those of owners with so many rows, a line for each number of rows.

        An owner's values have a part in common, of variance `_ALIKE`, and vary independently by the rest.
        """
        mean = float(self.points.mean())
        apart = self.points - mean
        common = np.interp((np.arange(_COARSE) + 0.5) / _COARSE, (np.arange(len(apart)) + 0.5) / len(apart), apart)
        many = rows[:, None, None]
        own = many * (mean + math.sqrt(_ALIKE) * common[None, :, None])
        return np.asarray((own + np.sqrt(many * (1 - _ALIKE)) * apart[None, None, :]).reshape(len(rows), -1))

    @property
    def mean_size(self) -> float:
        return max(1e-9, float(np.abs(self.points).mean()))

    @property
    def spread(self) -> float:
        return max(1e-9, float(self.points.std()))


def _with_mean(points: Floats, low: float, high: float, mean: float) -> Floats:
    """The points moved to have this mean: their places between the bounds are taken to a power."""
    if not high > low:
        return points
    wanted = min(max((mean - low) / (high - low), 0.002), 0.998)
    places = np.clip((points - low) / (high - low), 1e-6, 1 - 1e-6)
    least, most = -6.0, 6.0
    for _ in range(40):
        middle = (least + most) / 2
        least, most = (middle, most) if float((places ** math.exp(middle)).mean()) > wanted else (least, middle)
    return np.asarray(low + (high - low) * places ** math.exp((least + most) / 2))
