"""Sums and averages over values that are clamped to tighter bounds than their columns declare."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from dither.sql.bounding.losses import ValueBounds
from dither.sql.expressions import Clamp
from dither.sql.plan.aggregates import Aggregator, Average, Sum
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.question import Output


def clamped(output: Output, bounds: Iterable[ValueBounds], as_they_are: Container[str]) -> Output:
    """The same output with sums and averages of these values over the values clamped so.

    Sums whose measure, by its text, is among those computed `as_they_are` stay: they are totals of owners, which have
    clamps of their own.
    """
    known = {text: (least, most) for text, least, most in bounds}

    def over_clamped(leaf: Aggregator) -> Aggregator:
        if type(leaf) is Sum and leaf.measures()[0].text in as_they_are:
            return leaf
        if isinstance(leaf, (Sum, CentredSum, Average)) and leaf.value.text in known:
            return replace(leaf, value=Clamp(leaf.value, *known[leaf.value.text]))
        return leaf

    return replace(output, aggregate=output.aggregate.rebuilt(over_clamped)) if known else output
