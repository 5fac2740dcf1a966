"""How values are spread over rows, as far as a released profile tells.

Everything here is an estimate for choosing between plans: no guarantee rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.sql.expressions import Numeric, Stored
from dither.sql.expressions.evaluator import Columns, NotEvaluated, evaluate
from dither.sql.expressions.evaluator import Values as Given
from dither.sql.planner.profiles.profile import RANKS, Profile

Floats = NDArray[np.float64]

LARGEST = 2**52  # values beyond are not tried
OUTSIDE = float(RANKS[0])  # the share of values beyond the outermost rank, at either end
_TRIED = 64
_ALIKE = 0.1  # the part of the variance of values that is between owners
_COARSE = 8
_NOTHING = 1e-9  # of a column's range: declared bounds may be any number of times too wide


@dataclass(frozen=True)
class Values:
    """Values that stand for those of all rows, each as frequent as the others, in the units of the value."""

    points: Floats

    @classmethod
    def of(cls, value: Numeric, profile: Profile | None) -> Values:
        """By the profile of a stored column, or of those that a value is computed from; where that cannot be told,
        evenly over what its bounds allow."""
        if profile is None:
            return cls._of(value, None)
        if value not in profile.remembered:
            profile.remembered[value] = cls._of(value, profile)
        found: Values = profile.remembered[value]
        return found

    @classmethod
    def _of(cls, value: Numeric, profile: Profile | None) -> Values:
        low, high = (float(end) for end in value.bounds)
        computed = None if isinstance(value, Stored) else _computed(value, profile)
        if computed is not None:
            return cls(np.sort(np.clip(computed, low, high)))
        known = profile.columns.get(value.name) if profile is not None and isinstance(value, Stored) else None
        at = (np.arange(32) + 0.5) / 32
        if known is None:
            return cls(low + at * (high - low))
        ranks = np.array([0.0, *map(float, RANKS), 1.0])
        ends = np.maximum.accumulate(np.clip(np.array([low, *known.values, high], dtype=np.float64), low, high))
        points = np.interp(at, ranks, ends)
        mean = profile.mean(value.name) if profile is not None and isinstance(value, Stored) else None
        if mean is None or abs(float(points.mean()) - mean[0]) <= mean[1]:
            return cls(points)  # the mean says nothing that the quantiles do not
        return cls(_with_mean(points, low, high, mean[0]))

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


def beyond(value: Stored, profile: Profile) -> tuple[Floats, Floats]:
    """Values below the lowest and above the highest rank of a profile, as many as there may be by its mean.

    What the mean has more, or less, than the values between the ranks can only lie there; without that there are none.
    """
    known, mean = profile.columns[value.name], profile.mean(value.name)
    low, high = (float(end) for end in value.bounds)
    between = np.interp((np.arange(128) + 0.5) / 128, np.array(RANKS, dtype=np.float64), np.array(known.values, float))
    gap = 0.0 if mean is None else mean[0] - float(between.mean())
    if mean is None or abs(gap) <= mean[1]:
        return np.empty(0), np.empty(0)
    first, last = float(known.values[0]), float(known.values[-1])
    at = (np.arange(_TRIED) + 0.5) / _TRIED
    if gap > 0:
        return np.empty(0), _with_mean(last + at * (high - last), last, high, last + gap / OUTSIDE)
    return _with_mean(low + at * (first - low), low, first, first + gap / OUTSIDE), np.empty(0)


def _with_mean(points: Floats, low: float, high: float, mean: float) -> Floats:
    """The points moved to have this mean: their places between the bounds are taken to a power."""
    if not high > low:
        return points
    wanted = min(max((mean - low) / (high - low), _NOTHING), 1 - _NOTHING)
    places = np.clip((points - low) / (high - low), _NOTHING, 1 - _NOTHING)
    least, most = -6.0, 6.0
    for _ in range(40):
        middle = (least + most) / 2
        least, most = (middle, most) if float((places ** math.exp(middle)).mean()) > wanted else (least, middle)
    return np.asarray(low + (high - low) * places ** math.exp((least + most) / 2))


def _computed(value: Numeric, profile: Profile | None) -> Floats | None:
    columns = {leaf.name: leaf for leaf in value.walk() if isinstance(leaf, Stored)}
    if profile is None or not columns or any(column.reach > LARGEST for column in columns.values()):
        return None
    try:
        found = evaluate(value, sample(columns.values(), profile, _TRIED))
    except NotEvaluated:
        return None
    return np.where(found.null, 0.0, found.of.astype(np.float64))


def sample(columns: Iterable[Stored], profile: Profile | None, size: int) -> Columns:
    """Rows that stand for all: each column by itself, combined by sequences that fill the space evenly."""
    wanted = list(columns)
    golden = _root(len(wanted))
    found: dict[str, Given] = {}
    for place, column in enumerate(wanted):
        even = np.asarray((0.5 + np.arange(1, size + 1) * golden ** -(place + 1)) % 1, dtype=np.float64)
        if len(wanted) == 1:
            even = (np.arange(size) + 0.5) / size
        found[column.name] = Given(_points(column, profile, even), np.zeros(size, dtype=bool))
    return found


def _points(column: Stored, profile: Profile | None, even: NDArray[np.float64]) -> NDArray[np.int64]:
    low, high = column.bounds
    if profile is None or column.name not in profile.columns:
        return np.minimum(np.floor(low + even * (high - low + 1)), high).astype(np.int64)
    points = Values.of(column, profile).points
    return np.round(np.interp(even, (np.arange(len(points)) + 0.5) / len(points), points)).astype(np.int64)


def _root(dimensions: int) -> float:
    """The x with x^(d+1) = x + 1, of which powers make sequences that are even in d dimensions (Roberts 2018)."""
    found = 2.0
    for _ in range(40):
        found = (1 + found) ** (1 / (dimensions + 1))
    return found
