"""COUNT(DISTINCT owner)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.plan.aggregates.aggregator import Aggregator, only
from dither.sql.plan.nodes import CountOwners, Measure
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("CountDistinctOwner")
@dataclass(frozen=True)
class CountDistinctOwner(Aggregator):
    """How many owners have a row: without groups one owner moves it by one, so it needs no limit on rows."""

    def measures(self) -> tuple[Measure, ...]:
        return (CountOwners(),)

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1,)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        values, error = only(noisy, "COUNT(DISTINCT)"), only(errors, "COUNT(DISTINCT)")
        return ValueColumn("count", values, possible=(0.0, math.inf), **error.around(values))

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "COUNT(DISTINCT)"))
