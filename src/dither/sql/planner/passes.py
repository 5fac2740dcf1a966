"""All decisions about a question, in their order: rows, totals and bounds, then from where sums and averages take
distances, then the split of the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.sensitivity import Sensitivity
from dither.sql.bounding.aggregations import measures, plan
from dither.sql.guard.check import check
from dither.sql.plan.aggregates import Average, Sum
from dither.sql.plan.nodes import Aggregate, Measure
from dither.sql.plan.question import Question
from dither.sql.planner.centres import centres, from_centres
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.row_limits import choose
from dither.sql.planner.split import Weights, least_error, recentred, shares, summed
from dither.sql.planner.strategy import Strategy
from dither.sql.planner.value_bounds import clamped

_MOST_SUMS = 16  # that are looked at for a better form; a query of more is answered as it stands
_BETTER = 0.999


def decide(
    question: Question,
    kind: str,
    cost: Fraction,
    profile: Profile | None,
    rows_per_owner: int | None = None,
    adjust: bool = True,
) -> Strategy:
    """How to answer a question at this price: from the question, declared metadata and a released profile alone."""
    chosen = choose(question, kind, cost, profile, rows_per_owner, adjust)
    if len(measures(question)) + (not question.public) < 2:
        return chosen
    best = Divided.of(question, chosen, kind, profile)
    for leaf in summed(question)[:_MOST_SUMS]:
        if _can_be_centred(leaf, best):
            other = Divided.of(
                question, replace(chosen, centred=(*best.strategy.centred, *leaf.measures())), kind, profile
            )
            best = other if other.error < _BETTER * best.error else best
    for centre in centres(question, profile)[:_MOST_SUMS]:
        other = Divided.of(question, replace(best.strategy, centres=(*best.strategy.centres, centre)), kind, profile)
        best = other if other.error < _BETTER * best.error else best
    return replace(best.strategy, shares=best.shares)


def answered(question: Question, strategy: Strategy) -> Question:
    """The question as it is answered: its sums in the form, and over the values, that were decided."""
    values = [leaf.value for leaf in summed(question) if set(leaf.measures()) <= set(strategy.centred)]
    form = recentred(question, values)
    totals = {measure.text for measure, _ in strategy.totals}
    averaged = (from_centres(output, strategy.centres) for output in form.outputs)
    return replace(form, outputs=tuple(clamped(output, strategy.bounds, totals) for output in averaged))


def planned(asked: Question, strategy: Strategy) -> tuple[Aggregate, ...]:
    """The plan that was decided for a question in the form in which it is answered."""
    return plan(asked, rows_per_owner=strategy.rows, totals=dict(strategy.totals), cut=strategy.cut)


def _can_be_centred(leaf: Sum, divided: Divided) -> bool:
    """Where the count is paid for anyway, and the sum is not one of owners' totals."""
    _, count = Average(leaf.value).measures()
    totals = dict(divided.strategy.totals)
    return count in divided.needed and not set(leaf.measures()) & set(totals)


@dataclass(frozen=True)
class Divided:
    """A strategy with the measures of its plan, how far one owner moves each, and how much their errors count."""

    strategy: Strategy
    kind: str
    needed: Sequence[Measure]
    moved: Sequence[Sensitivity]
    weights: Mapping[Measure, float]

    @classmethod
    def of(cls, question: Question, strategy: Strategy, kind: str, profile: Profile | None) -> Divided:
        asked = answered(question, strategy)
        aggregates = planned(asked, strategy)
        needed = [measure for aggregate in aggregates for measure in aggregate.answers]
        moved = [one for part in check(aggregates) for one in part]
        return cls(strategy, kind, needed, moved, Weights(profile).of(asked))

    @property
    def error(self) -> float:
        return least_error(self.needed, self.moved, self.weights, self.kind)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        return shares(self.needed, self.moved, self.weights, self.kind)
