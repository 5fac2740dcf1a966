"""MEDIAN, PERCENTILE_CONT, MIN, MAX and MODE: values chosen by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.policy.columns import Column
from dither.records import recorded
from dither.sql.expressions import Numeric
from dither.sql.plan.aggregates.aggregator import Aggregator, only
from dither.sql.plan.nodes import Measure, ModeRows, QuantileRows
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn

# MIN and MAX themselves can be one person's value. What is answered instead: the first and the last hundredth.
LEAST, GREATEST = Fraction(1, 100), Fraction(99, 100)


@recorded("ChosenQuantile", "value", "numerator", "denominator")
@dataclass(frozen=True)
class ChosenQuantile(Aggregator):
    """A declared value whose rank is near the one asked for. Its error is one of ranks, so it has no interval."""

    value: Numeric
    numerator: int
    denominator: int
    declared: Column | None = field(default=None, compare=False)

    def measures(self) -> tuple[Measure, ...]:
        return (QuantileRows(self.value, self.numerator, self.denominator),)

    @property
    def typical_size(self) -> float:
        return 0.5  # of a rank

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        return _chosen("quantile", only(noisy, "a quantile"), self.value, self.declared)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction | None:
        return None


@recorded("ChosenMode", "value")
@dataclass(frozen=True)
class ChosenMode(Aggregator):
    """A declared value that occurs nearly as often as the most frequent one."""

    value: Numeric
    declared: Column | None = field(default=None, compare=False)

    def measures(self) -> tuple[Measure, ...]:
        return (ModeRows(self.value),)

    @property
    def typical_size(self) -> float:
        return 0.5  # of a rank

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        return _chosen("mode", only(noisy, "MODE"), self.value, self.declared)

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction | None:
        return None


def _chosen(name: str, values: NDArray[Any], value: Numeric, declared: Column | None) -> ValueColumn:
    """Nothing tells whether there was any value to choose from: everywhere SQL might have NULL."""
    unknown = np.ones(len(values), dtype=bool)
    return ValueColumn(name, values, decimals=value.scale, declared=declared, maybe_null=unknown)
