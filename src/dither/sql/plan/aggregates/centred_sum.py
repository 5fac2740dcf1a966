"""SUM(x) from a noisy sum of distances from the middle of the declared range and a noisy count."""

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
from dither.sql.expressions import Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, mean_size
from dither.sql.plan.aggregates.average import Average
from dither.sql.plan.aggregates.means import rows_and_clamps
from dither.sql.plan.nodes import Measure
from dither.sql.postprocess.formulas.estimate import integers, plus, times
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("CentredSum", "value")
@dataclass(frozen=True)
class CentredSum(Aggregator):
    """sum of (x - middle) + middle * count: better than a sum by itself where the count is paid for anyway."""

    value: Numeric
    declared: tuple[int, int] | None = field(default=None, compare=False, kw_only=True)  # before it was clamped

    @property
    def middle(self) -> int:
        return Average(self.value).middle

    @property
    def coefficients(self) -> tuple[int, int]:
        """By which each measure's noise reaches the sum."""
        return 1, self.middle

    def measures(self) -> tuple[Measure, ...]:
        return Average(self.value).measures()

    @property
    def noise_factors(self) -> tuple[float, ...]:
        unit = 10.0**-self.value.scale
        return unit, abs(self.middle) * unit

    @property
    def typical_size(self) -> float:
        return mean_size(self.value)

    def remainder(self, errors: Sequence[MeasureError]) -> Bounds:
        """What clamping changed, and what rows that were left out add: so many at most, each with a declared value."""
        rows, ends = errors[1].left_out[1], self.declared or self.value.bounds
        found: list[int | None] = []
        for clamped, each, farther in zip(errors[0].clamped, ends, (min, max), strict=True):
            added = farther(0, each) if rows is None else farther(0, rows * each)
            found.append(None if clamped is None or (rows is None and added) else clamped + added)
        return found[0], found[1]

    def losses(self, errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
        """Rows, and what clamping changed: what the rows that were left out add follows from how many they are."""
        return rows_and_clamps(self.measures(), errors)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        if len(noisy) != 2 or len(errors) != 2:
            raise ParameterError(f"a centred sum has two measures; got {len(noisy)} and {len(errors)} errors.")
        distance, count = (np.asarray(array) for array in noisy)
        low, high = self.declared or self.value.bounds
        values = plus(distance, times(count, integers([self.middle])))
        noise = errors[0].noise + abs(self.middle) * errors[1].noise
        together = MeasureError(noise, self.remainder(errors))
        return ValueColumn(
            "sum",
            values,
            decimals=self.value.scale,
            possible=(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf),
            additive=True,
            **together.around(values, self.value.scale),
        )

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return (errors[0] + abs(self.middle) * errors[1]) / Fraction(10**self.value.scale)
