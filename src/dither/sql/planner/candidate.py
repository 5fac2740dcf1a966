"""A question with what has been decided about it so far, and what follows: its plan, and how long intervals are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

from dither.exact.digits import counted, decimal
from dither.sensitivity import Sensitivity
from dither.sql.bounding.aggregations import plan
from dither.sql.bounding.losses import left_out
from dither.sql.guard.check import check
from dither.sql.plan.measures import shown
from dither.sql.plan.nodes import Aggregate, Choice, Measure
from dither.sql.plan.question import Output, Question
from dither.sql.plan.released_form import centred, clamped, from_centres
from dither.sql.planner.profile import Profile
from dither.sql.planner.split import summed, weights
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.left_out import LeftOut

NOTHING_DECIDED = Strategy()
FOR_PROFILE = Fraction(1, 10)  # of what an interval may miss, where it needs a profile's limits too
_CLEARLY = 0.999  # what is shorter by less is the same


def answered(question: Question, strategy: Strategy) -> Question:
    """The question as it is answered: its sums in the form, and over the values, that were decided."""
    values = {leaf.value for leaf in summed(question) if set(leaf.measures()) <= set(strategy.centred)}
    totals = {measure.text for measure, _ in strategy.totals}
    form = (from_centres(centred(output, values), strategy.centres) for output in question.outputs)
    return replace(question, outputs=tuple(clamped(output, strategy.bounds, totals) for output in form))


def planned(asked: Question, strategy: Strategy) -> tuple[Aggregate, ...]:
    """The plan that was decided for a question in the form in which it is answered."""
    totals = dict(strategy.totals)
    return plan(asked, rows_per_owner=strategy.rows, totals=totals, every_row=strategy.every_row)


def lost(aggregates: Sequence[Aggregate], strategy: Strategy, profile: Profile | None) -> LeftOut:
    """What such a plan leaves out, as far as a profile certifies it."""
    known = {} if profile is None else profile.known
    return left_out(aggregates, strategy.bounds, "" if profile is None else profile.table, known)


def split_missed(left: LeftOut, output: Output, confidence: Fraction) -> tuple[Fraction, Fraction]:
    """What the noise of an output, and what the limits of a profile may miss; all for the noise where it needs none."""
    allowed = 1 - confidence
    if all(left.certain(measure.text) for measure in output.aggregate.measures()):
        return allowed, allowed
    return allowed * (1 - FOR_PROFILE), allowed * FOR_PROFILE


@dataclass(frozen=True)
class Plan:
    """A price of `cost` buys Gaussian noise if `kind` is "zcdp", else Laplace noise. `stated` is a limit on rows that
    the analyst asked for. `tried` is the best plan with fewer rows that came out worse, for an explanation."""

    question: Question
    kind: str
    cost: Fraction
    confidence: Fraction
    profile: Profile | None = None
    stated: int | None = None
    strategy: Strategy = NOTHING_DECIDED
    tried: Plan | None = None

    def deciding(self, **changes: Any) -> Plan:
        """The same plan with something else decided."""
        return replace(self, strategy=replace(self.strategy, **changes))

    @cached_property
    def answered(self) -> Question:
        return answered(self.question, self.strategy)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return planned(self.answered, self.strategy)

    @cached_property
    def moved(self) -> Mapping[Measure, Sensitivity]:
        """Each measure of the plan, in its order, and how far one owner can move it."""
        needed = [measure for aggregate in self.aggregates for measure in aggregate.answers]
        return dict(zip(needed, (one for part in check(self.aggregates) for one in part), strict=True))

    @cached_property
    def left_out(self) -> LeftOut:
        return lost(self.aggregates, self.strategy, self.profile)

    @cached_property
    def weights(self) -> Mapping[Measure, float]:
        return weights(self.answered)

    @cached_property
    def lengths(self) -> tuple[float, ...]:
        """How long the whole interval of each output will be, of means times the number of rows: noise on both sides,
        and what is left out."""
        return tuple(map(self._length, self.answered.outputs))

    def shorter_than(self, other: Plan) -> float:
        """How much shorter intervals are on the whole, as a factor below 1; 1 if any is longer, or none is shorter."""
        ratios = [
            1.0 if mine == theirs else mine / theirs for mine, theirs in zip(self.lengths, other.lengths, strict=True)
        ]
        mean = sum(ratios) / len(ratios)
        return mean if max(ratios) <= 1 and mean < _CLEARLY else 1.0

    def _length(self, output: Output) -> float:
        by_noise, by_profile = split_missed(self.left_out, output, self.confidence)
        noise, most = 0.0, 0.0
        for leaf in output.aggregate.leaves():
            each = float(by_noise) / output.aggregate.confidence_split
            for measure, factor in zip(leaf.measures(), leaf.noise_factors, strict=True):
                below, above = self.left_out.bounds(measure.text, by_profile)
                if below is None or above is None:
                    return math.inf
                noise += 2 * factor * self.noise(measure, each)
                most = max(most, factor * (above - below))
        return noise + most

    def noise(self, measure: Measure, missed: float) -> float:
        """What the noise of a measure stays within, or a rank, except with this probability: an estimate."""
        shares = self.strategy.shares or (Fraction(1, len(self.moved)),) * len(self.moved)
        paid = float(self.cost * dict(zip(self.moved, shares, strict=True))[measure])
        moved = self.moved[measure]
        if isinstance(measure, Choice):
            low, high = measure.value.bounds
            epsilon = math.sqrt(8 * paid) if self.kind == "zcdp" else paid
            return 2 * float(moved.l1) / epsilon * math.log((high - low + 1) / missed)
        if self.kind == "zcdp":
            return -NormalDist().inv_cdf(missed / 2) * math.sqrt(float(moved.l2_squared) / (2 * paid))
        return float(moved.l1) / paid * math.log(1 / missed)


def reasons(plan: Plan) -> Iterator[str]:
    """What a plan does with rows, totals and values, and what that leaves out at most."""
    profile, rows = plan.profile, plan.strategy.rows
    if plan.stated is not None:
        yield f"At most {counted(plan.stated, 'row')} of each owner, as stated."
    elif profile is not None and rows is not None:
        yield (
            f"At most {counted(rows, 'row')} of each owner {'is' if rows == 1 else 'are'} read, of {profile.most:,} "
            f"that count: the noise is {profile.most / rows:.3g} times smaller, and the profile certifies that "
            f"{_left_out(plan)}."
        )
    elif profile is not None and plan.tried is not None and plan.tried.strategy.rows is not None:
        fewer = counted(plan.tried.strategy.rows, "row")
        yield (
            f"All {counted(profile.most, 'row')} that count of each owner are read: the profile is too cheap to help "
            f"at this price. With {fewer} it would certify that {_left_out(plan.tried)}, and the noise would shrink by "
            "less."
        )
    for measure, total in plan.strategy.totals:
        ends = " to ".join(decimal(shown(measure, end)) for end in (total.least, total.most))
        yield f"A sum adds owners' totals, each clamped to {ends}, as the profile suggests; it is the slower plan."
    if plan.strategy.bounds:
        yield "Values are clamped to tighter bounds than declared, as the profile suggests; intervals cover the rest."


def _left_out(plan: Plan) -> str:
    known = plan.profile.rows if plan.profile is not None else None
    lost = 0 if known is None else known.excess(plan.strategy.rows or known.top, (1 - plan.confidence) * FOR_PROFILE)
    return f"at most {counted(lost, 'row')} {'is' if lost == 1 else 'are'} left out of any group"
