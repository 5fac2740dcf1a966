"""SUM(x) from a noisy sum of distances from the middle of the declared range and a noisy count."""

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
from dither.sql.expressions import Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, mean_size
from dither.sql.plan.aggregates.average import Average
from dither.sql.plan.nodes import Measure
from dither.sql.postprocess.formulas.estimate import integers, plus, times
from dither.sql.postprocess.value_column import ValueColumn


@recorded("CentredSum", "value")
@dataclass(frozen=True)
class CentredSum(Aggregator):
    """sum of (x - middle) + middle * count: better than a sum by itself where the count is paid for anyway."""

    value: Numeric

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

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[Fraction]) -> ValueColumn:
        if len(noisy) != 2 or len(errors) != 2:
            raise ParameterError(f"a centred sum has two measures; got {len(noisy)} and {len(errors)} errors.")
        distance, count = (np.asarray(array) for array in noisy)
        low, high = self.value.bounds
        return ValueColumn(
            "sum",
            plus(distance, times(count, integers([self.middle]))),
            decimals=self.value.scale,
            half_width=self.half_width_at(0, errors),
            possible=(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf),
            additive=True,
        )

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return (errors[0] + abs(self.middle) * errors[1]) / Fraction(10**self.value.scale)
