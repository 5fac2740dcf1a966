"""COUNT(DISTINCT x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.expressions import Numeric, Textual
from dither.sql.plan.aggregates.aggregator import Aggregator, only
from dither.sql.plan.nodes import CountDistinct, Measure
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("CountDistinctValues", "value")
@dataclass(frozen=True)
class CountDistinctValues(Aggregator):
    """How many different values there are, NULL not counted: each row of an owner can bring one."""

    value: Numeric | Textual

    def measures(self) -> tuple[Measure, ...]:
        return (CountDistinct(self.value),)

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1,)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        values, error = only(noisy, "COUNT(DISTINCT)"), only(errors, "COUNT(DISTINCT)")
        return ValueColumn("count", values, **error.around(values))

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "COUNT(DISTINCT)"))
