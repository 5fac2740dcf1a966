"""An output in the form whose measures were released: a release says of itself what it was computed from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from dither.sql.expressions import Clamp, Numeric
from dither.sql.plan.aggregates import Aggregator, Average, Sum
from dither.sql.plan.aggregates.average import AverageFrom
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.question import Output

Centre = tuple[str, int]  # the text of a value, and where distances are taken from
Clamped = tuple[str, int, int]  # the text of a value, and what it is clamped to


def from_centres(output: Output, centres: Iterable[Centre]) -> Output:
    """The same output with averages of these values by distances from their centres."""
    known = dict(centres)

    def moved(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Average and leaf.value.text in known:
            return AverageFrom(leaf.value, known[leaf.value.text])
        return leaf

    return replace(output, aggregate=output.aggregate.rebuilt(moved)) if known else output


def clamped(output: Output, bounds: Iterable[Clamped], as_they_are: Container[str]) -> Output:
    """The same output with sums and averages of these values over the values clamped so.

    Sums whose measure, by its text, is among those computed `as_they_are` stay: they are totals of owners, which have
    clamps of their own.
    """
    known: Mapping[str, tuple[int, int]] = {text: (least, most) for text, least, most in bounds}

    def narrowed(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Sum and leaf.measures()[0].text in as_they_are:
            return leaf
        if isinstance(leaf, (Sum, CentredSum, Average)) and leaf.value.text in known:
            clamp = Clamp(leaf.value, *known[leaf.value.text])
            return replace(leaf, value=clamp, declared=leaf.value.bounds)
        return leaf

    return replace(output, aggregate=output.aggregate.rebuilt(narrowed)) if known else output


def centred(output: Output, values: Container[Numeric]) -> Output:
    """The output with its sums of these values centred."""

    def from_middle(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Sum and leaf.value in values:
            return CentredSum(leaf.value, declared=leaf.declared)
        return leaf

    return replace(output, aggregate=output.aggregate.rebuilt(from_middle))


def as_released(output: Output, released: Container[str]) -> Output:
    """The output in the form whose measures were released: a sum that is not among them was centred."""
    plain = (leaf for leaf in output.aggregate.leaves() if type(leaf) is Sum)
    return centred(output, {leaf.value for leaf in plain if leaf.measures()[0].text not in released})
