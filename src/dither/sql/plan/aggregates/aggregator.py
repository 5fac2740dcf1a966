"""What every aggregate offers to the planner and to the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, overload

from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.records import text_of
from dither.sql.expressions import Clamp, Expression, Null, Numeric, Stored, Textual
from dither.sql.plan.nodes import Measure
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn


@dataclass(frozen=True)
class Aggregator(ABC):
    """Frozen and compared by content: equal measures of different outputs are computed and paid once."""

    depends_on_size: ClassVar[bool] = False  # whether its error shrinks with the number of rows in a group

    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """The exact integers per group it needs."""

    @property
    def noise_factors(self) -> tuple[float, ...]:
        """How far each measure's noise reaches into the shown value; of a mean, times the number of rows."""
        return (1.0,) * len(self.measures())

    @property
    def typical_size(self) -> float:
        """About what one row adds to the shown value, or how far a mean's values are spread, by what is declared."""
        return 1.0

    def leaves(self) -> tuple[Aggregator, ...]:
        """The aggregates that a formula is made of, or the aggregate itself."""
        return (self,)

    def rebuilt(self, change: Callable[[Aggregator], Aggregator]) -> Aggregator:
        """The same with each of its leaves changed."""
        return change(self)

    @abstractmethod
    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        """The shown column from the noisy measures and, for each, how far it may be from the exact one."""

    @property
    def coefficients(self) -> tuple[int, ...] | None:
        """By which the measures add up to the column; None where it is no sum of them."""
        return None

    def losses(self, errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
        """What was left out of each measure, as far as the column's interval has to have room for it."""
        return [(measure, error.left_out) for measure, error in zip(self.measures(), errors, strict=True)]

    def remainder(self, errors: Sequence[MeasureError]) -> Bounds:
        """Between which ends exact - limited lies for the column, where measures add up to it."""
        return errors[0].left_out

    @property
    def size(self) -> int:
        """About how many words it is written in."""
        parts = [getattr(self, f.name) for f in fields(self) if f.compare]
        return 1 + sum(part.size if isinstance(part, Expression) else 1 for part in parts)

    @property
    def text(self) -> str:
        """The aggregate as it is recorded, the same for equal ones only."""
        return text_of(self)

    @property
    def confidence_split(self) -> int:
        """How many measures share the failure probability: each needs confidence 1 - (1 - confidence) / split."""
        return len(self.measures())

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction | None:
        """The half-width in shown units for a group with that many rows; None if it follows from unknown values."""
        raise NotImplementedError


@overload
def bounded(value: Numeric) -> Numeric: ...
@overload
def bounded(value: Numeric | Textual) -> Numeric | Textual: ...
def bounded(value: Numeric | Textual) -> Numeric | Textual:
    """The value, fit to be summed: a stored column is within its bounds already, anything computed is clamped last."""
    if not isinstance(value, Numeric) or isinstance(value, (Stored, Clamp, Null)):
        return value
    return Clamp(value, value.low, value.high)


def mean_size(value: Numeric) -> float:
    """The mean of |x|, in shown units, if values were spread evenly over what is declared; above 0."""
    low, high = (Fraction(end, 10**value.scale) for end in value.bounds)
    if low * high >= 0:
        return max(1e-18, float(abs(low + high) / 2))
    return float((low**2 + high**2) / (2 * (high - low)))


def only(items: Sequence[Any], name: str) -> Any:
    """The single item that an aggregate with one measure is given."""
    if len(items) != 1:
        raise ParameterError(f"{name} has one measure; got {len(items)}.")
    return items[0]
