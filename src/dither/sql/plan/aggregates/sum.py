"""SUM(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.expressions import Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, bounded, mean_size, only
from dither.sql.plan.nodes import Measure, SumRows
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("Sum", "value")
@dataclass(frozen=True)
class Sum(Aggregator):
    """The exact sum in the value's own decimals; a group without values has sum 0 (SQL would say NULL, and so tell)."""

    value: Numeric
    declared: tuple[int, int] | None = field(default=None, compare=False, kw_only=True)  # before it was clamped

    def measures(self) -> tuple[Measure, ...]:
        return (SumRows(bounded(self.value)),)

    @property
    def noise_factors(self) -> tuple[float, ...]:
        return (10.0**-self.value.scale,)

    @property
    def typical_size(self) -> float:
        return mean_size(self.value)

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1,)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        values, error = only(noisy, "SUM"), only(errors, "SUM")
        low, high = self.declared or self.value.bounds
        return ValueColumn(
            "sum",
            values,
            decimals=self.value.scale,
            possible=(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf),
            additive=True,
            **error.around(values, self.value.scale),
        )

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "SUM")) / Fraction(10**self.value.scale)
