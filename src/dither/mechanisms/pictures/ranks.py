"""Quantiles: the laws of the answer among the records."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.mechanisms.pictures.names import name
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.mechanisms.quantiles.listed_quantile import ListedQuantile
    from dither.mechanisms.quantiles.listed_quantiles import ListedQuantiles
    from dither.mechanisms.quantiles.quantile import Quantile
    from dither.mechanisms.quantiles.quantiles import Quantiles


def plot_quantile(mechanism: Quantile, values: Any | None, neighbour: Any | None, title: str | None = None) -> Any:
    """Nine records in the range unless others are given; the neighbour has more, or another one, at the upper end."""
    from dither.plot import Law, Neighbours, steps_of_runs, two_laws

    grid = mechanism.grid
    if values is None:
        values = [(grid.first + place * (grid.last - grid.first) // 10) * grid.step for place in range(1, 10)]
    if neighbour is None:
        top, kept = grid.last * grid.step, list(values)
        gone = 1 if mechanism.relation is Relation.REPLACE and kept else 0
        neighbour = [*kept[gone:], *([top] * mechanism.rows_per_owner)]
    both = [mechanism.probability_bounds(records) for records in (values, neighbour)]
    laws = [
        Law(label, Fraction(0), lambda step, listed=listed: listed[step - grid.first])  # type: ignore[misc]
        for label, listed in zip(("one dataset", "a neighbour"), both, strict=True)
    ]
    steps = [grid.first + place for place in steps_of_runs(*both)]
    shown = Neighbours(laws[0], laws[1], grid.step, steps)
    return two_laws(title or name(mechanism), mechanism.guarantee, shown)


def plot_quantiles(mechanism: Quantiles, values: Any | None, neighbour: Any | None) -> Any:
    """The first choice, of the middle quantile; later ones are made in the same way among fewer records."""
    first = mechanism.first_choice
    title = f"{name(mechanism)}: the first choice, q = {float(first.q):.4g}"
    return plot_quantile(first, values, neighbour, title)


def plot_listed(mechanism: ListedQuantile, values: Any | None, neighbour: Any | None, title: str | None = None) -> Any:
    """A record at each candidate unless others are given; the neighbour has more, or another one, at the last."""
    from dither.plot import two_choices

    records = list(mechanism.candidates) if values is None else list(values)
    if neighbour is None:
        gone = 1 if mechanism.relation is Relation.REPLACE and records else 0
        neighbour = [*records[gone:], *([mechanism.candidates[-1]] * mechanism.rows_per_owner)]
    first, second = (
        dict(zip(mechanism.candidates, mechanism.probabilities(given), strict=True)) for given in (records, neighbour)
    )
    return two_choices(title or name(mechanism), mechanism.guarantee, first, second)


def plot_listed_several(mechanism: ListedQuantiles, values: Any | None, neighbour: Any | None) -> Any:
    """The first choice, of the middle quantile; later ones are made in the same way among fewer candidates."""
    first = mechanism.first_choice
    title = f"{name(mechanism)}: the first choice, q = {float(first.q):.4g}"
    return plot_listed(first, values, neighbour, title)
