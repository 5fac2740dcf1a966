"""Measures in an analyst's words and units: what is counted or summed, and how many decimals its integers stand for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.exact.digits import counted, decimal
from dither.sql.plan.aggregates import Aggregator, Average
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.nodes import (
    Choice,
    CountDistinct,
    CountOwners,
    CountRows,
    Measure,
    ModeRows,
    OwnerTotal,
    QuantileRows,
    SumRows,
)
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import NOTHING

_ADDED_UP = (CountRows, SumRows, CountDistinct)


def added_up(aggregate: Aggregator) -> bool:
    """Whether what is left out of groups together is at most what is left out of all."""
    return all(isinstance(measure, _ADDED_UP) for measure in aggregate.measures())


def names(aggregate: Aggregator) -> tuple[str, ...]:
    """What the measures of an aggregate are called, in their order."""
    if isinstance(aggregate, Formula):
        inner = {
            measure: name
            for part in aggregate.parts
            for measure, name in zip(part.measures(), names(part), strict=True)
        }
        return tuple(inner[measure] for measure in aggregate.measures())
    found = [_name(measure) for measure in aggregate.measures()]
    if isinstance(aggregate, (Average, CentredSum)):
        found[0] = f"sum of differences from {decimal(Fraction(aggregate.middle, 10**aggregate.value.scale))}"
    return tuple(found)


def shown(measure: Measure, amount: Fraction | int) -> Fraction:
    """An amount of a measure's integer units, in the units the column is shown in."""
    valued = isinstance(measure, (SumRows, Choice, OwnerTotal)) and measure.value is not None
    return Fraction(amount) / Fraction(10 ** (measure.value.scale if valued else 0))  # type: ignore[attr-defined]


def left_out_words(losses: Sequence[tuple[Measure, Bounds]]) -> str:
    """How much the plan may have left out of a column, such as "up to 4,500 rows left out"; empty for nothing."""
    return ", ".join(dict.fromkeys(_left_out(measure, ends) for measure, ends in losses if ends != NOTHING))


def _left_out(measure: Measure, ends: Bounds) -> str:
    if isinstance(measure, (SumRows, OwnerTotal)):
        return f"{_amount(measure, *ends)} left out"
    what = {CountOwners: "owner", CountDistinct: "different value"}.get(type(measure), "row")
    return f"any number of {what}s left out" if ends[1] is None else f"up to {counted(ends[1], what)} left out"


def _amount(measure: Measure, low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return "any amount"
    least, most = (_written(shown(measure, end)) for end in (low, high))
    return f"up to {most}" if low == 0 else f"from {least} to {most}"


def _written(amount: Fraction) -> str:
    return f"{amount.numerator:,}" if amount.denominator == 1 else decimal(amount)


def _name(measure: Measure) -> str:
    if isinstance(measure, CountOwners):
        return "number of owners"
    if isinstance(measure, CountRows):
        return "number of rows" if measure.condition is None else "number of rows with a value"
    if isinstance(measure, SumRows):
        return "sum"
    if isinstance(measure, CountDistinct):
        return "number of different values"
    if isinstance(measure, OwnerTotal):
        return "sum of owners' clamped totals"
    if isinstance(measure, QuantileRows):
        return f"value at rank {measure.numerator}/{measure.denominator}"
    if isinstance(measure, ModeRows):
        return "most frequent value"
    raise TypeError(f"no name for {type(measure).__name__}")
