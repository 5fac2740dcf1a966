"""Values clamped to tighter bounds than a column declares, where the profile says that hardly any lie beyond.

Sums and averages move by as much as the bounds allow, so bounds that are ten times too wide make ten times the noise.
What clamping cuts off, and how well that is known, is estimated from the released profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dither.sql.expressions import Clamp, Stored
from dither.sql.plan.aggregates import Aggregator, Average, Sum, Variance
from dither.sql.plan.nodes import Measure, OwnerLimit, Project, Scan
from dither.sql.plan.released_form import clamped
from dither.sql.planner.expected_errors import Expected
from dither.sql.planner.profiles.profile import RANKS
from dither.sql.planner.profiles.row_spread import Floats
from dither.sql.planner.profiles.value_spread import OUTSIDE, Values, beyond

__all__ = ["Bounds", "Tighter", "clamped", "tighter_bounds"]

Bounds = tuple[str, int, int]  # the text of a value, and what it is clamped to

_WORTH_IT = 0.9  # a narrower range must make the error at least so much smaller
_STEPS = 24
_SURE = 2.0  # deviations in a bound that holds with 95%
_ROUGH = 0.3  # by how much, relative to it, what is cut off may differ from the estimate


@dataclass(frozen=True)
class Tighter:
    """A value's bounds that promise a smaller error, with what they cut off a row, and the errors with and without."""

    value: Stored
    least: int
    most: int
    cut: float
    error: float
    instead: float

    @property
    def bounds(self) -> Bounds:
        return self.value.text, self.least, self.most

    def sums(self, measure: Measure) -> bool:
        """Whether a measure is the sum of the values as they are."""
        return measure in Sum(self.value).measures()

    @property
    def measure(self) -> Measure:
        """The sum of the clamped values."""
        return Sum(Clamp(self.value, self.least, self.most)).measures()[0]


def tighter_bounds(expected: Expected, parts: Sequence[Aggregator], rows: int) -> Iterator[Tighter]:
    """Bounds for the values that are summed and averaged over whole tables, `rows` rows of each owner.

    Of rows that conditions or joins choose the profile does not say how large their values are, nor of groups that
    are made of the values themselves.
    """
    if any(not isinstance(node, (Scan, OwnerLimit, Project)) for node in expected.question.source.walk()):
        return
    spread = {leaf.value for leaf in parts if isinstance(leaf, Variance)}  # it shares its sums with the average
    averaged = {leaf.value: False for leaf in parts if isinstance(leaf, Average)}
    summed = {leaf.value: True for leaf in parts if type(leaf) is Sum}
    grouped = {leaf for key in expected.question.keys for leaf in key.code.walk()}
    for value, sums in (averaged | summed).items():
        if isinstance(value, Stored) and value.name in expected.profile.columns and value not in (*spread, *grouped):
            found = _best(expected, value, rows, summed=sums)
            if found is not None:
                yield found


def _best(expected: Expected, value: Stored, rows: int, *, summed: bool) -> Tighter | None:
    low, high = (float(end) for end in value.bounds)
    points = Values.of(value, expected.profile).points
    middle = float(np.median(points))
    steps = 2.0 ** (-np.arange(_STEPS) / 2)
    mosts = np.unique(np.ceil(middle + (high - middle) * steps))
    leasts = np.unique(np.floor(middle - (middle - low) * steps))
    least, most = (grid.ravel() for grid in np.meshgrid(leasts, mosts))
    above = np.maximum(points - most[:, None], 0.0).mean(axis=1)
    below = np.maximum(least[:, None] - points, 0.0).mean(axis=1)
    lower, upper = beyond(value, expected.profile)
    if len(upper):
        above = np.maximum(above, OUTSIDE * np.maximum(upper - most[:, None], 0.0).mean(axis=1))
    if len(lower):
        below = np.maximum(below, OUTSIDE * np.maximum(least[:, None] - lower, 0.0).mean(axis=1))
    doubt = np.hypot(_ROUGH * (above + below), _unknown(expected, value, least - low, high - most))
    group = max(1.0, (expected.owners.total - float(expected.owners.lost(rows))) / expected.groups)
    reach = np.maximum(np.abs(least), np.abs(most)) if summed else (most - least) / 2
    noise = expected.deviation(rows * reach, rows * reach) / group
    if not summed:  # the count's noise too, the farther from the middle the more
        moved = np.full(len(least), float(rows))
        noise = np.hypot(noise, expected.deviation(moved, moved) / group * np.abs(middle - (least + most) / 2))
    # Whether the two ends make up for each other differs from group to group.
    errors = np.sqrt((above + below) ** 2 + doubt**2 + noise**2)
    best, declared = int(np.argmin(errors)), int(np.flatnonzero((least == leasts[0]) & (most == mosts[-1]))[0])
    if not errors[best] < _WORTH_IT * errors[declared]:
        return None
    cut = math.hypot(float(above[best] + below[best]), float(doubt[best]))
    ends = max(value.low, int(least[best])), min(value.high, int(most[best]))  # floats of large ends may lie beyond
    return Tighter(value, *ends, cut, float(errors[best]), float(errors[declared]))


def _unknown(expected: Expected, value: Stored, below: Floats, above: Floats) -> Floats:
    """What an average value may lose of which the profile knows nothing, if bounds are moved in by so much.

    As many values may lie at the declared bounds as there are beyond the outermost ranks, and as these may be off; but
    they would move the mean, as far as the values between are known.
    """
    known = expected.profile
    owners, mean, column = known.owners_of(value.name), known.mean(value.name), known.columns[value.name]
    off = 1.0 if owners is None else min(1.0, max(column.rank_errors[0], column.rank_errors[-1]) / owners / _SURE)
    by_ranks = min(1.0, OUTSIDE + off) * np.hypot(below, above)
    if mean is None:
        return by_ranks
    shifts = np.array(column.rank_errors) / (owners or 1.0) / _SURE
    by_mean = mean[1] / _SURE + _misplaced(np.array(column.values, dtype=np.float64), shifts)
    return np.asarray(np.minimum(by_ranks, by_mean * ((below > 0) | (above > 0))))


def _misplaced(values: Floats, shifts: Floats) -> float:
    """By how much the mean that quantiles tell may be off for ranks that are off by so much, at either end."""
    at, ranks = (np.arange(128) + 0.5) / 128, np.array(RANKS, dtype=np.float64)
    told = float(np.interp(at, ranks, values).mean())
    others = (float(np.interp(at, np.maximum.accumulate(ranks + sign * shifts), values).mean()) for sign in (-1, 1))
    return max(abs(told - other) for other in others)
