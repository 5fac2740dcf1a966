"""How rows are spread over owners, as far as a released profile tells.

Everything here is an estimate for choosing between plans: no guarantee rests on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dither.sql.planner.profiles.profile import RowsPerOwner
from dither.sql.planner.profiles.tail import Floats, having_at_least, smooth

__all__ = ["Floats", "Owners"]

_POINTS = 8  # numbers of rows that stand for all those between two powers of two
_CLEAR = 4.0  # noise scales above which owners in the last power of two are there for sure
_ROUGH = 0.5  # by how much, relative to it, a number of owners that follows from conditions may be off
_WITHIN = 0.1  # how far the rows of owners between two powers of two may be off, relative to what lies between them


@dataclass(frozen=True)
class Owners:
    """So many owners (`weights`) have so many rows. `powers` says between which powers of two, and `covariance` by how
    many owners the powers may be off."""

    rows: Floats
    weights: Floats
    powers: NDArray[np.intp]
    covariance: Floats
    most: int

    @classmethod
    def of(cls, found: RowsPerOwner, most: int) -> Owners:
        smoothed = smooth(np.asarray(found.owners, dtype=np.float64), found.scale)
        at_most = _at_most(smoothed.owners, found.scale, most)
        below = np.append(smoothed.owners[:-1], smoothed.owners[-1] - (at_most or 0.0))
        powers = np.arange(len(below))
        steps = np.ceil(2.0 ** (powers[:, None] + np.arange(_POINTS)[None, :] / _POINTS))
        first = np.unique(np.minimum(steps, most))
        ends = np.append(first, most + 1.0)
        reached = having_at_least(below, np.append(2.0**powers, most + 1.0), ends)
        weights = np.maximum(reached[:-1] - reached[1:], 0.0)
        place = np.floor(np.log2(first) + 1e-9).astype(np.intp)
        if at_most is not None:
            last = place == powers[-1]
            wide = np.diff(ends)[last]
            weights[last] = below[-1] * wide / wide.sum()
        return cls(
            np.append((first + ends[1:] - 1) / 2, most),
            np.append(weights, at_most or 0.0),
            np.append(place, powers[-1]),
            smoothed.covariance,
            most,
        )

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
        powers = np.arange(len(self.covariance))
        member = self.powers[:, None] == powers[None, :]
        owners = np.maximum(self.weights @ member, 1e-9)
        each = (self._beyond(most) * self.weights) @ member / owners
        bottom = 2.0**powers
        top = np.minimum(2 * bottom, self.most + 1.0)
        width = np.maximum(top - np.maximum(bottom, np.asarray(most, dtype=np.float64)[..., None]), 0.0)
        squares = np.maximum(np.einsum("...i,ij,...j", each, self.covariance, each), 0.0)
        return np.asarray(np.sqrt(squares + ((_WITHIN * owners * width) ** 2).sum(axis=-1)))

    def _beyond(self, most: float | Floats) -> Floats:
        return np.maximum(self.rows - np.asarray(most, dtype=np.float64)[..., None], 0.0)

    def part(self, share: float) -> Owners:
        """The same owners, of whose rows only a share is asked about."""
        return replace(self, weights=self.weights * share, covariance=self.covariance * share**2)

    def thinned(self, share: float) -> Owners:
        """How many of the rows that are asked about, a share of all, owners have.

        Whether conditions choose among owners or among an owner's rows is not known: half of it is taken for each.
        """
        each = math.sqrt(share)
        expected = np.maximum(self.rows * each, 1e-9)
        largest = float(expected.max())
        rows = np.arange(1.0, min(self.most, math.ceil(largest + 6 * math.sqrt(largest) + 6)) + 1)
        logs = rows * np.log(expected)[:, None] - expected[:, None] - np.cumsum(np.log(rows))
        weights = each * self.weights @ np.exp(logs)
        powers = np.floor(np.log2(rows) + 1e-9).astype(np.intp)
        off = _ROUGH * np.bincount(powers, weights, minlength=len(self.covariance))
        return replace(self, rows=rows, weights=weights, powers=powers, covariance=np.outer(off, off))

    def shift(self, most: float | Floats) -> Floats:
        """How far an average over rows moves if each owner keeps `most` rows at most, in standard deviations.

        Root of the sum over owners of (share of all rows - share of kept rows)^2: for values that do not depend on how
        many rows an owner has.
        """
        kept = np.minimum(self.rows, np.asarray(most, dtype=np.float64)[..., None])
        gone = self.rows / self.total - kept / np.maximum(1.0, kept @ self.weights)[..., None]
        return np.asarray(np.sqrt(gone**2 @ self.weights))


def _at_most(owners: Floats, scale: float, most: int) -> float | None:
    """Owners with exactly as many rows as are declared to count: all who had more are there.

    They are those by whom the last power of two stands out from how the ones before it go on. None if there are hardly
    any owners, or they thin out before: then what is declared does not cut them off.
    """
    if not owners[-1] > _CLEAR * scale:
        return None
    if len(owners) == 1:
        return float(owners[-1])
    before = owners[-3] if len(owners) > 2 else 0.0
    growth = min(2.0, owners[-2] / before) if before > 0 else 2.0
    goes_on = owners[-2] * growth * math.log2((most + 1) / 2 ** (len(owners) - 1))  # for part of a power of two
    return max(0.0, float(owners[-1] - goes_on)) if owners[-1] > goes_on / 2 else None
