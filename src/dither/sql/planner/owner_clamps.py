"""Sums by owners' totals, each clamped: one owner with many rows or large values moves them by no more than the clamp.

What the clamp cuts off is estimated from the released profile, and the sum is scaled up for it, as counts are for rows
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Aggregator, Sum
from dither.sql.plan.nodes import Measure, OwnerTotal, SumRows
from dither.sql.planner.expected_errors import Expected
from dither.sql.planner.profiles.row_spread import Floats
from dither.sql.planner.profiles.value_spread import OUTSIDE, Values, beyond
from dither.sql.planner.strategy import totalled

_WORTH_IT = 0.9  # owners' totals take longer to compute: their error must be at least so much smaller
_ROUGH = 0.2  # by how much, relative to it, what a clamp cuts off may differ for how values of an owner are alike
_DIGITS = 10**6  # of a factor


@dataclass(frozen=True)
class Clamped:
    """Owners' totals in place of a sum, scaled up by `factor`.

    `cut` is what the clamp cuts off or, scaled up, by how much that may be off; `error` is the error so, and `instead`
    that by leaving rows out.
    """

    total: OwnerTotal
    factor: Fraction
    cut: float
    error: float
    instead: float


def clamped_totals(expected: Expected, parts: Sequence[Aggregator], rows: int) -> Iterator[tuple[Measure, Clamped]]:
    """Sums that come out better from owners' clamped totals than from at most `rows` rows of each."""
    if expected.question.keys or expected.most == 1:
        return  # how an owner's rows are spread over groups is not known, and one row is its total
    shared = {measure for leaf in parts if type(leaf) is not Sum for measure in leaf.measures()}
    for leaf in dict.fromkeys(leaf for leaf in parts if type(leaf) is Sum):
        (measure,) = leaf.measures()
        if measure in shared or not isinstance(measure, SumRows):
            continue
        best = _best(expected, measure, expected.of_measure(measure, rows))
        if best.error < _WORTH_IT * best.instead:
            yield measure, best


def _best(expected: Expected, measure: SumRows, instead: float) -> Clamped:
    """The best clamp, with values of one owner that are a little alike."""
    low, high = measure.value.bounds
    largest = max(1, expected.most * measure.value.reach)
    clamps = sorted({min(largest, round(2 ** (step / 8))) for step in range(8 * largest.bit_length() + 1)})
    ends = np.array(clamps, dtype=np.float64)
    values = Values.of(measure.value, expected.profile)
    cuts, squares, whole = _cut_off(expected, values, ends)
    rare = _rare(expected, measure)
    if len(rare):
        over, rows = np.maximum(rare - ends[:, None], 0.0), OUTSIDE * expected.owners.total
        cuts, squares = np.maximum(cuts, rows * over.mean(axis=1)), np.maximum(squares, rows * (over**2).mean(axis=1))
    doubt = expected.owners.lost_doubt(ends / values.mean_size) * values.mean_size
    noise = expected.deviation(ends, ends)
    # Cut off on both sides, it would not be known of which sign the sum is too small.
    scaled = expected.adjust and not low < 0 < high
    factors = whole / np.maximum(whole - cuts, 1e-6 * whole) if scaled else np.ones(len(ends))
    off = np.sqrt(doubt**2 + (_ROUGH * cuts) ** 2 + squares) if scaled else np.hypot(cuts, doubt)
    errors = np.hypot(off, factors * noise)
    best = int(np.argmin(errors))
    factor = 1 + Fraction(round((float(factors[best]) - 1) * _DIGITS), _DIGITS)
    total = totalled(measure, -clamps[best] if low < 0 else 0, clamps[best] if high > 0 else 0)
    return Clamped(total, factor, float((off if scaled else cuts)[best]), float(errors[best]), instead)


def _rare(expected: Expected, measure: SumRows) -> Floats:
    """Sizes of values beyond the outermost ranks that only the profile's mean tells of."""
    value = measure.value
    if not isinstance(value, Stored) or value.name not in expected.profile.columns:
        return np.empty(0)
    return np.abs(np.concatenate(beyond(value, expected.profile)))


def _cut_off(expected: Expected, values: Values, clamps: Floats) -> tuple[Floats, Floats, float]:
    """What each clamp cuts off all totals together, the sum of squares of what it cuts off each, and all totals."""
    owners = expected.owners
    sizes = np.abs(values.totals(owners.rows))
    order = np.argsort(sizes, axis=None)
    totals, weights = sizes.ravel()[order], np.repeat(owners.weights / sizes.shape[1], sizes.shape[1])[order]
    # Over the totals above a clamp c: sums of weight, of weight * total and of weight * total^2.
    place = np.searchsorted(totals, clamps, side="right")
    many, above, squares = (
        np.append(np.cumsum((weights * totals**power)[::-1])[::-1], 0.0)[place] for power in range(3)
    )
    cuts = np.maximum(above - clamps * many, 0.0)
    whole = max(1e-9, float(weights @ totals))  # all values may be 0, and nobody may be there
    return cuts, np.maximum(squares - 2 * clamps * above + clamps**2 * many, 0.0), whole
