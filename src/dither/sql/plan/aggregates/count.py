"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.expressions import Boolean
from dither.sql.plan.aggregates.aggregator import Aggregator, only
from dither.sql.plan.nodes import CountRows, Measure
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("Count", "condition")
@dataclass(frozen=True)
class Count(Aggregator):
    """How many rows there are, or for how many the condition is true (COUNT(x): x is not NULL)."""

    condition: Boolean | None = None

    def measures(self) -> tuple[Measure, ...]:
        return (CountRows(self.condition),)

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1,)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        values, error = only(noisy, "COUNT"), only(errors, "COUNT")
        ends = error.around(values)
        return ValueColumn("count", values, possible=(0.0, math.inf), additive=True, **ends)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "COUNT"))
