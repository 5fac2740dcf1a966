"""OWNER_SUM(x, lower, upper) and OWNER_COUNT(upper): each owner's total in a group is clamped, then all are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.records import recorded
from dither.sql.expressions import Boolean, Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, mean_size, only
from dither.sql.plan.nodes import Measure, OwnerTotal
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@recorded("SumOfOwners", "value", "condition", "least", "most")
@dataclass(frozen=True)
class SumOfOwners(Aggregator):
    """All rows of an owner count, however many: what is limited is the total. `value` None counts rows."""

    value: Numeric | None
    condition: Boolean | None
    least: int
    most: int

    def measures(self) -> tuple[Measure, ...]:
        return (OwnerTotal(self.value, self.condition, self.least, self.most),)

    @property
    def noise_factors(self) -> tuple[float, ...]:
        return (10.0**-self._decimals,)

    @property
    def typical_size(self) -> float:
        return 1.0 if self.value is None else mean_size(self.value)

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1,)

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        values, error = only(noisy, "OWNER_SUM"), only(errors, "OWNER_SUM")
        ends = error.around(values, self._decimals)
        return ValueColumn("owner_sum", values, decimals=self._decimals, additive=True, **ends)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction:
        return Fraction(only(errors, "OWNER_SUM")) / Fraction(10**self._decimals)

    @property
    def _decimals(self) -> int:
        return 0 if self.value is None else self.value.scale
