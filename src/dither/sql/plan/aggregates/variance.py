"""VARIANCE and STDDEV: from noisy sums of distances from the middle of the declared range, and of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.records import recorded
from dither.sql.expressions import Clamp, Constant, IsNull, Multiply, Not, Numeric, Subtract
from dither.sql.plan.aggregates.aggregator import Aggregator, bounded
from dither.sql.plan.aggregates.means import mean_ends, rows_and_clamps
from dither.sql.plan.nodes import CountRows, Measure, SumRows
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn

_OUTWARD = 1 + 16 * 2.0**-53  # more than the relative error of the few float operations below


@recorded("Variance", "value", "sample", "root")
@dataclass(frozen=True)
class Variance(Aggregator):
    """The mean square distance from the mean; `sample` divides by one less, `root` takes the square root."""

    depends_on_size = True
    value: Numeric
    sample: bool
    root: bool

    @property
    def middle(self) -> int:
        return (self.value.low + self.value.high) // 2

    def measures(self) -> tuple[Measure, ...]:
        distance = Subtract(self.value, Constant(self.middle, self.value.scale))
        present = CountRows(Not(IsNull(self.value)) if self.value.nullable else None)
        return SumRows(bounded(distance)), SumRows(_squared(distance)), present

    @property
    def noise_factors(self) -> tuple[float, ...]:
        low, high = self.value.bounds
        reach, unit = max(1.0, (high - low) / 2), 10.0**-self.value.scale
        return 2 * reach * unit**2, unit**2, 4 / 3 * reach**2 * unit**2

    @property
    def typical_size(self) -> float:
        low, high = self.value.bounds
        return max(1e-9, (high - low) ** 2 / 12) * 100.0**-self.value.scale

    def losses(self, errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
        """Rows, and what clamping changed: what the rows that were left out add follows from how many they are."""
        return rows_and_clamps(self.measures(), errors)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        if len(noisy) != 3 or len(errors) != 3:
            raise ParameterError(f"VARIANCE has three measures; got {len(noisy)} and {len(errors)} errors.")
        total, squares, count = (np.asarray(array, dtype=np.float64) for array in noisy)
        fewest_counted = 2.0 if self.sample else 1.0
        value = self._variance(total, squares, np.maximum(count, fewest_counted))
        least_count = count - float(errors[2].noise)
        known, fewest = least_count >= fewest_counted, np.maximum(least_count, fewest_counted) / _OUTWARD
        below, above = (end - self.middle for end in self.value.bounds)
        means = mean_ends(total, count, errors[0], errors[2], (below, above))
        most_square = max(below**2, above**2)
        least_square, greatest_square = mean_ends(squares, count, errors[1], errors[2], (0, most_square))
        # The square of the mean is least where the mean is nearest to zero, which may lie between its ends.
        nearest = np.where((means[0] <= 0) & (means[1] >= 0), 0.0, np.minimum(*map(np.abs, means)))
        farthest = np.maximum(*map(np.abs, means))
        low = np.maximum(least_square, 0.0) / _OUTWARD - (farthest * _OUTWARD) ** 2
        high = np.maximum(greatest_square, 0.0) * _OUTWARD - (nearest / _OUTWARD) ** 2
        high = self._corrected(high, np.maximum(fewest, fewest_counted), up=True)
        least, greatest = 0.0, self._greatest()
        lower = np.where(known, np.clip(low, least, greatest), least)
        upper = np.where(known, np.clip(high, least, greatest), greatest)
        ends = [self._shown(array) for array in (np.clip(value, least, greatest), lower, upper)]
        possible = (0.0, float(self._shown(np.array([greatest]))[0]))
        name = "stddev" if self.root else "variance"
        return ValueColumn(name, ends[0], lower=ends[1], upper=ends[2], possible=possible, maybe_null=~known)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction | None:
        """(e_2 + 2 reach e_1 + 3 reach^2 e_n) / (rows - e_n) for a variance; a root has no such bound beforehand."""
        if self.root:
            return None
        low, high = self.value.bounds
        reach, widest = max(self.middle - low, high - self.middle), Fraction(self._greatest())
        if rows > errors[2] + 1:
            near = rows - errors[2] - self.sample
            widest = min(widest, (errors[1] + 2 * reach * errors[0] + 3 * reach**2 * errors[2]) / near)
        return widest / Fraction(10 ** (2 * self.value.scale))

    def _variance(self, total: Any, squares: Any, count: Any) -> Any:
        return self._corrected(squares / count - (total / count) ** 2, count, up=True)

    def _corrected(self, variance: Any, count: Any, *, up: bool) -> Any:
        """Times n / (n - 1) for a sample: a lower end needs none of it, since it can only be larger."""
        return variance * count / (count - 1.0) if self.sample and up else variance

    def _greatest(self) -> float:
        """Half the range squared for all there is (Popoviciu); twice that for a sample of two."""
        spread = float(self.value.high - self.value.low)
        return spread**2 / (2 if self.sample else 4)

    def _shown(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = variance / 100.0**self.value.scale
        return np.asarray(np.sqrt(scaled) if self.root else scaled, dtype=np.float64)


def _squared(distance: Numeric) -> Numeric:
    """Clamped last, from 0: a square is not negative, which the bounds of its factors do not tell."""
    low, high = distance.bounds
    return Clamp(Multiply(distance, distance), 0, max(low * low, high * high))
