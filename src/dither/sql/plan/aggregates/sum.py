"""SUM(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.expressions import Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, bounded, mean_size, only
from dither.sql.plan.nodes import Measure, SumRows
from dither.sql.postprocess.value_column import ValueColumn


@recorded("Sum", "value")
@dataclass(frozen=True)
class Sum(Aggregator):
    """The exact sum in the value's own decimals; a group without values has sum 0 (SQL would say NULL, and so tell)."""

    value: Numeric

    def measures(self) -> tuple[Measure, ...]:
        return (SumRows(bounded(self.value)),)

    @property
    def noise_factors(self) -> tuple[float, ...]:
        return (10.0**-self.value.scale,)

    @property
    def typical_size(self) -> float:
        return mean_size(self.value)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[Fraction]) -> ValueColumn:
        low, high = self.value.bounds
        return ValueColumn(
            "sum",
            only(noisy, "SUM"),
            decimals=self.value.scale,
            half_width=self.half_width_at(0, errors),
            possible=(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf),
            additive=True,
        )

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "SUM")) / Fraction(10**self.value.scale)
