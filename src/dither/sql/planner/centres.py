"""Averages by distances from the profile's mean in place of the middle of the declared range.

The noise of the count reaches an average by how far that is from where distances are taken. Near the mean it hardly
does, so that nearly all of the price is left for the sum; farther from the middle the sum moves by more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Aggregator, Average
from dither.sql.plan.aggregates.average import AverageFrom
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.question import Output, Question
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.split import leaves

Centre = tuple[str, int]  # the text of a value, and where distances are taken from


def from_centres(output: Output, centres: Iterable[Centre]) -> Output:
    """The same output with averages of these values by distances from their centres."""
    known = dict(centres)
    return replace(output, aggregate=_from_centres(output.aggregate, known)) if known else output


def _from_centres(aggregate: Aggregator, known: Mapping[str, int]) -> Aggregator:
    if isinstance(aggregate, Formula):
        return replace(aggregate, parts=tuple(_from_centres(part, known) for part in aggregate.parts))
    if type(aggregate) is Average and aggregate.value.text in known:
        return AverageFrom(aggregate.value, known[aggregate.value.text])
    return aggregate


def centres(question: Question, profile: Profile | None) -> tuple[Centre, ...]:
    """The means of the columns that are averaged, as the profile knows them."""
    found: dict[str, int] = {}
    for output in question.outputs:
        for leaf in leaves(output.aggregate):
            if profile is not None and type(leaf) is Average and isinstance(leaf.value, Stored):
                mean = profile.mean(leaf.value.name)
                if mean is not None:
                    found[leaf.value.text] = min(max(round(mean[0]), leaf.value.low), leaf.value.high)
    return tuple(found.items())
