"""AVG(x): a noisy sum of distances from the middle of the declared range, over a noisy count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.records import recorded
from dither.sql.expressions import Clamp, Constant, IsNull, Not, Numeric, Subtract
from dither.sql.plan.aggregates.aggregator import Aggregator, bounded
from dither.sql.plan.aggregates.means import mean_ends, rows_and_clamps
from dither.sql.plan.nodes import CountRows, Measure, SumRows
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn

_ROUNDING = 8 * 2.0**-53  # more than the relative error of the few float operations below


@recorded("Average", "value")
@dataclass(frozen=True)
class Average(Aggregator):
    """Summing x - middle halves the sensitivity of a sum of x, and an empty group reads as the middle.

    Its interval is joint: rows that were left out are the same above and below, each with a declared value.
    """

    depends_on_size = True
    value: Numeric
    declared: tuple[int, int] | None = field(default=None, compare=False, kw_only=True)  # before it was clamped

    @property
    def middle(self) -> int:
        return (self.value.low + self.value.high) // 2

    def measures(self) -> tuple[Measure, ...]:
        inner = self.value.value if isinstance(self.value, Clamp) else self.value  # NULL where that is
        present = CountRows(Not(IsNull(inner)) if inner.nullable else None)
        return SumRows(bounded(Subtract(self.value, Constant(self.middle, self.value.scale)))), present

    @property
    def noise_factors(self) -> tuple[float, ...]:
        low, high = self.value.bounds
        unit = 10.0**-self.value.scale
        return unit, max(1.0, (high - low) / 2) * unit

    @property
    def typical_size(self) -> float:
        low, high = self.value.bounds
        return max(1e-9, (high - low) / math.sqrt(12)) * 10.0**-self.value.scale

    def losses(self, errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
        """Rows, and what clamping changed: what the rows that were left out add follows from how many they are."""
        return rows_and_clamps(self.measures(), errors)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        if len(noisy) != 2 or len(errors) != 2:
            raise ParameterError(f"AVG has two measures; got {len(noisy)} and {len(errors)} errors.")
        total, count = (np.asarray(array, dtype=np.float64) for array in noisy)
        low, high = self.declared or self.value.bounds
        value = self._shown(total / np.maximum(count, 1.0), 0)
        known = count - float(errors[1].noise) >= 1.0
        ends = mean_ends(total, count, errors[0], errors[1], (low - self.middle, high - self.middle))
        lower, upper = (self._shown(end, outward) for end, outward in zip(ends, (-1, 1), strict=True))
        least, greatest = (end / 10**self.value.scale for end in (low, high))
        lower, upper = np.where(known, lower, least), np.where(known, upper, greatest)
        return ValueColumn("avg", value, lower=lower, upper=upper, possible=(least, greatest), maybe_null=~known)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        """(e_sum + reach * e_count) / (rows - e_count), never more than the declared range."""
        low, high = self.value.bounds
        reach = max(self.middle - low, high - self.middle)
        spread = Fraction(high - low)
        if rows > errors[1]:
            spread = min(spread, (errors[0] + reach * errors[1]) / (rows - errors[1]))
        return spread / Fraction(10**self.value.scale)

    def _shown(self, distance: NDArray[np.float64], outward: int) -> NDArray[np.float64]:
        slack = outward * _ROUNDING * (abs(self.middle) + np.abs(distance))
        low, high = (self.declared or self.value.bounds) if outward else self.value.bounds
        inside = np.clip(self.middle + distance + slack, float(low), float(high))
        return np.asarray(inside / 10.0**self.value.scale, dtype=np.float64)


@recorded("AverageFrom", "value", "centre")
@dataclass(frozen=True)
class AverageFrom(Average):
    """The same average by distances from a public centre other than the middle."""

    centre: int

    @property
    def middle(self) -> int:
        return self.centre
