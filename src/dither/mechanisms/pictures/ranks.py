"""Quantiles: how likely each answer is among the records."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.mechanisms.pictures.names import name
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.mechanisms.quantiles.listed_quantile import ListedQuantile
    from dither.mechanisms.quantiles.quantile import Quantile
    from dither.mechanisms.quantiles.rank_mechanism import RankMechanism


def plot_ranks(mechanism: RankMechanism, values: Any | None, neighbour: Any | None) -> Any:
    """Of several quantiles the first choice, of the middle one: later ones are made alike among fewer answers."""
    first, title = mechanism.first_choice, name(mechanism)
    if first is not mechanism:
        title += f": the first choice, q = {float(first.q):.4g}"
    return (_on_grid if hasattr(first, "grid") else _in_list)(first, values, neighbour, title)


def _on_grid(mechanism: Quantile, values: Any | None, neighbour: Any | None, title: str) -> Any:
    """Nine records in the range unless others are given."""
    from dither.plot import Distribution, Neighbours, steps_of_runs, two_distributions

    grid = mechanism.grid
    if values is None:
        values = [(grid.first + place * (grid.last - grid.first) // 10) * grid.step for place in range(1, 10)]
    if neighbour is None:
        neighbour = _neighbour(mechanism, list(values), grid.last * grid.step)
    both = [mechanism.probability_bounds(records) for records in (values, neighbour)]
    distributions = [
        Distribution(label, Fraction(0), lambda step, listed=listed: listed[step - grid.first])  # type: ignore[misc]
        for label, listed in zip(("one dataset", "a neighbour"), both, strict=True)
    ]
    steps = [grid.first + place for place in steps_of_runs(*both)]
    return two_distributions(
        title, mechanism.guarantee, Neighbours(distributions[0], distributions[1], grid.step, steps)
    )


def _in_list(mechanism: ListedQuantile, values: Any | None, neighbour: Any | None, title: str) -> Any:
    """A record at each candidate unless others are given."""
    from dither.plot import two_choices

    records = list(mechanism.candidates) if values is None else list(values)
    if neighbour is None:
        neighbour = _neighbour(mechanism, records, mechanism.candidates[-1])
    first, second = (
        dict(zip(mechanism.candidates, mechanism.probabilities(given), strict=True)) for given in (records, neighbour)
    )
    return two_choices(title, mechanism.guarantee, first, second)


def _neighbour(mechanism: RankMechanism, records: list[Any], last: Any) -> list[Any]:
    """More records, or another one, at the last answer."""
    gone = 1 if mechanism.relation is Relation.REPLACE and records else 0
    return [*records[gone:], *([last] * mechanism.rows_per_owner)]
