"""Averages by distances from the profile's mean in place of the middle of the declared range.

The noise of the count reaches an average by how far that is from where distances are taken. Near the mean it hardly
does, so that nearly all of the price is left for the sum; farther from the middle the sum moves by more.
"""

from __future__ import annotations

from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Average
from dither.sql.plan.question import Question
from dither.sql.plan.released_form import Centre, from_centres, leaves
from dither.sql.planner.profiles.profile import Profile

__all__ = ["Centre", "centres", "from_centres"]


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
