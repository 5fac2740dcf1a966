"""An output in the form whose measures were released: a release says of itself what it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace

from dither.sql.expressions import Clamp, Numeric
from dither.sql.plan.aggregates import Aggregator, Average, Sum
from dither.sql.plan.aggregates.average import AverageFrom
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.question import Output

Centre = tuple[str, int]  # the text of a value, and where distances are taken from
Clamped = tuple[str, int, int]  # the text of a value, and what it is clamped to


def leaves(aggregate: Aggregator) -> tuple[Aggregator, ...]:
    """The aggregates that a formula is made of, or the aggregate itself."""
    if isinstance(aggregate, Formula):
        return tuple(leaf for part in aggregate.parts for leaf in leaves(part))
    return (aggregate,)


def from_centres(output: Output, centres: Iterable[Centre]) -> Output:
    """The same output with averages of these values by distances from their centres."""
    known = dict(centres)

    def moved(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Average and leaf.value.text in known:
            return AverageFrom(leaf.value, known[leaf.value.text])
        return leaf

    return replace(output, aggregate=_each_leaf(output.aggregate, moved)) if known else output


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

    return replace(output, aggregate=_each_leaf(output.aggregate, narrowed)) if known else output


def centred(aggregate: Aggregator, values: frozenset[Numeric]) -> Aggregator:
    """The aggregate with its sums of these values centred."""

    def moved(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Sum and leaf.value in values:
            return CentredSum(leaf.value, declared=leaf.declared)
        return leaf

    return _each_leaf(aggregate, moved)


def as_released(output: Output, released: Container[str]) -> Output:
    """The output in the form whose measures were released: a sum that is not among them was centred."""
    plain = (leaf for leaf in leaves(output.aggregate) if type(leaf) is Sum)
    values = frozenset(leaf.value for leaf in plain if leaf.measures()[0].text not in released)
    return replace(output, aggregate=centred(output.aggregate, values)) if values else output


def _each_leaf(aggregate: Aggregator, change: Callable[[Aggregator], Aggregator]) -> Aggregator:
    if isinstance(aggregate, Formula):
        return replace(aggregate, parts=tuple(_each_leaf(part, change) for part in aggregate.parts))
    return change(aggregate)
