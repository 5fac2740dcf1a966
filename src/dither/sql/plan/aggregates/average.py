"""AVG(x): a noisy sum of distances from the middle of the declared range, over a noisy count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.records import recorded
from dither.sql.expressions import Clamp, Constant, IsNull, Not, Numeric, Subtract
from dither.sql.plan.aggregates.aggregator import Aggregator, bounded
from dither.sql.plan.nodes import CountRows, Measure, SumRows
from dither.sql.postprocess.value_column import ValueColumn

_ROUNDING = 8 * 2.0**-53  # more than the relative error of the few float operations below


@recorded("Average", "value")
@dataclass(frozen=True)
class Average(Aggregator):
    """Summing x - middle halves the sensitivity of a sum of x, and an empty group reads as the middle."""

    depends_on_size = True
    value: Numeric

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

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[Fraction]) -> ValueColumn:
        if len(noisy) != 2 or len(errors) != 2:
            raise ParameterError(f"AVG has two measures; got {len(noisy)} and {len(errors)} errors.")
        total, count = (np.asarray(array, dtype=np.float64) for array in noisy)
        far, near = float(errors[0]), float(errors[1])
        value = self._shown(total / np.maximum(count, 1.0), 0)
        fewest, most = count - near, count + near
        # A quotient over a positive interval of counts is extreme at one of its ends, which one by the sign above.
        known = fewest >= 1.0
        fewest, most = np.maximum(fewest, 1.0), np.maximum(most, 1.0)
        below, above = total - far, total + far
        lower = self._shown(below / np.where(below < 0, fewest, most), -1)
        upper = self._shown(above / np.where(above < 0, most, fewest), 1)
        least, greatest = (end / 10**self.value.scale for end in self.value.bounds)
        lower, upper = np.where(known, lower, least), np.where(known, upper, greatest)
        return ValueColumn("avg", value, lower=lower, upper=upper, possible=(least, greatest))

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
        inside = np.clip(self.middle + distance + slack, float(self.value.low), float(self.value.high))
        return np.asarray(inside / 10.0**self.value.scale, dtype=np.float64)


@recorded("AverageFrom", "value", "centre")
@dataclass(frozen=True)
class AverageFrom(Average):
    """The same average by distances from a public centre other than the middle."""

    centre: int

    @property
    def middle(self) -> int:
        return self.centre
