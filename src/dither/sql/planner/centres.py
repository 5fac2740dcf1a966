"""Averages by distances from another public centre than the middle: how some stored answers were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dither.sql.plan.aggregates import Aggregator, Average
from dither.sql.plan.aggregates.average import AverageFrom
from dither.sql.plan.question import Output


def from_centres(output: Output, centres: Iterable[tuple[str, int]]) -> Output:
    """The same output with averages of these values, by their text, by distances from their centres."""
    known = dict(centres)

    def from_centre(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Average and leaf.value.text in known:
            return AverageFrom(leaf.value, known[leaf.value.text])
        return leaf

    return replace(output, aggregate=output.aggregate.rebuilt(from_centre)) if known else output
