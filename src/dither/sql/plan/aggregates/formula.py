"""Arithmetic of aggregates: SUM(a) / SUM(b), AVG(x) - AVG(y), CASE WHEN COUNT(*) > 10 THEN ... END."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.records import recorded
from dither.sql.plan.aggregates.aggregator import Aggregator
from dither.sql.plan.aggregates.average import Average
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.aggregates.count import Count
from dither.sql.plan.aggregates.owner_count import CountDistinctOwner
from dither.sql.plan.aggregates.sum import Sum
from dither.sql.plan.nodes import Measure
from dither.sql.postprocess.formulas import Given, Term, from_column, to_column, within
from dither.sql.postprocess.formulas.formula_errors import Expected, half_width
from dither.sql.postprocess.formulas.terms import Apply
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.postprocess.value_column import ValueColumn

_Error = TypeVar("_Error", MeasureError, Fraction)
_WHOLE = (Count, CountDistinctOwner)  # exact values are whole numbers from zero upward


@recorded("Formula", "term", "parts")
@dataclass(frozen=True)
class Formula(Aggregator):
    """A term over other aggregates. Its interval holds the exact result whenever all its parts hold theirs.

    Each distinct measure is computed, noised and paid once, however often the formula uses it.
    """

    term: Term
    parts: tuple[Aggregator, ...]

    @property
    def depends_on_size(self) -> bool:  # type: ignore[override]
        """Products and quotients do: their error follows from how large their operands are."""
        computed = (node.function for node in self.term.walk() if isinstance(node, Apply))
        return any(part.depends_on_size for part in self.parts) or not {"multiply", "divide"}.isdisjoint(computed)

    def measures(self) -> tuple[Measure, ...]:
        return tuple(dict.fromkeys(measure for part in self.parts for measure in part.measures()))

    def leaves(self) -> tuple[Aggregator, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves())

    def rebuilt(self, change: Callable[[Aggregator], Aggregator]) -> Aggregator:
        return replace(self, parts=tuple(part.rebuilt(change) for part in self.parts))

    @property
    def confidence_split(self) -> int:
        """Distinct measures; a part whose interval needs more than its measures' own is added with all it needs."""
        plain = [part for part in self.parts if part.confidence_split == len(part.measures())]
        shared = {measure for part in plain for measure in part.measures()}
        return len(shared) + sum(part.confidence_split for part in self.parts if part not in plain)

    def losses(self, errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
        return [loss for part, (_, own) in self._shares(errors, errors) for loss in part.losses(own)]

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        columns = [part.finish(*given) for part, given in self._shares(noisy, errors)]
        estimates = [
            within(from_column(column, whole=isinstance(part, _WHOLE), maybe_null=column.maybe_null), column.possible)
            for part, column in zip(self.parts, columns, strict=True)
        ]
        return to_column("value", self.term.of(Given(estimates)), len(columns[0].values))

    def half_width_at(self, rows: int, errors: Sequence[Fraction]) -> Fraction | None:
        """The half-width to expect in a group of that many rows, or None if it follows from values not known before."""
        return half_width(self.term, [_expected(part, rows, own) for part, (_, own) in self._shares(errors, errors)])

    def _shares(
        self, noisy: Sequence[Any], errors: Sequence[_Error]
    ) -> Iterator[tuple[Aggregator, tuple[list[Any], list[_Error]]]]:
        """Each part with the measures and errors that are its own."""
        measures = self.measures()
        if not len(measures) == len(noisy) == len(errors):
            raise ParameterError(
                f"the formula has {len(measures)} measures; got {len(noisy)} and {len(errors)} errors."
            )
        place: Mapping[Measure, int] = {measure: index for index, measure in enumerate(measures)}
        for part in self.parts:
            own = [place[measure] for measure in part.measures()]
            yield part, ([noisy[index] for index in own], [errors[index] for index in own])

    @property
    def size(self) -> int:
        return 1 + self.term.size + sum(part.size for part in self.parts)


def _expected(part: Aggregator, rows: int, errors: Sequence[Fraction]) -> Expected | None:
    """The exact value that a part can have in a group of that many rows, and its error."""
    error = part.half_width_at(rows, errors)
    if error is None:
        return None
    if isinstance(part, Count):
        return Expected(Fraction(rows if part.condition is None else 0), Fraction(rows), error)
    if isinstance(part, CountDistinctOwner):
        return Expected(Fraction(min(rows, 1)), Fraction(rows), error)
    if isinstance(part, (Sum, CentredSum, Average)):
        adding = not isinstance(part, Average)
        most = rows if adding else 1
        low, high = (Fraction(most * end, 10**part.value.scale) for end in part.value.bounds)
        if adding:  # NULLs add nothing
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        return Expected(low, high, error)
    return Expected(None, None, error)
