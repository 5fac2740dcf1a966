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
from dither.sql.bounding.limit_order import chooses_rows, path_to_table
from dither.sql.bounding.losses import left_out
from dither.sql.guard.check import check
from dither.sql.plan.measures import added_up, shown
from dither.sql.plan.nodes import Aggregate, Choice, Measure
from dither.sql.plan.question import Output, Question
from dither.sql.plan.released_form import centred, clamped, from_centres
from dither.sql.planner.profile import Profile
from dither.sql.planner.split import summed, weights
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.left_out import OF_PROFILE, LeftOut
from dither.sql.postprocess.measure_errors import TO_GROUPS
from dither.sql.postprocess.noise_reach import together

NOTHING_DECIDED = Strategy()
_CLEARLY = 0.999  # what is shorter by less is the same


def answered(question: Question, strategy: Strategy) -> Question:
    """The question as it is answered: its sums in the form, and over the values, that were decided."""
    if not (strategy.centred or strategy.centres or strategy.bounds):
        return question  # itself, which remembers what was planned for it
    values = {leaf.value for leaf in summed(question) if set(leaf.measures()) <= set(strategy.centred)}
    totals = {measure.text for measure, _ in strategy.totals}
    form = (from_centres(centred(output, values), strategy.centres) for output in question.outputs)
    return replace(question, outputs=tuple(clamped(output, strategy.bounds, totals) for output in form))


def planned(asked: Question, strategy: Strategy) -> tuple[Aggregate, ...]:
    """The plan that was decided for a question in the form in which it is answered."""
    totals = dict(strategy.totals)
    limits = {"every_row": strategy.every_row, "where_first": strategy.where_first}
    return plan(asked, rows_per_owner=strategy.rows, totals=totals, **limits)


def lost(aggregates: Sequence[Aggregate], strategy: Strategy, profile: Profile | None) -> LeftOut:
    """What such a plan leaves out, as far as a profile certifies it."""
    known = {} if profile is None else profile.known
    return left_out(aggregates, strategy.bounds, "" if profile is None else profile.table, known)


def split_missed(left: LeftOut, output: Output, confidence: Fraction) -> tuple[Fraction, Fraction]:
    """What the limits of a profile, and what the noise of an output may miss; all for the noise where it needs none."""
    return left.split((measure.text for measure in output.aggregate.measures()), 1 - confidence)


@dataclass(frozen=True)
class Plan:
    """A price of `cost` buys Gaussian noise if `kind` is "zcdp", else Laplace noise. `stated` is a limit on rows that
    the analyst asked for, with `where_first` on rows that conditions keep. `tried` is the best plan with fewer rows
    that came out worse, for an explanation. With `over_groups`, intervals have to hold in so many of the groups, and
    not each by itself."""

    question: Question
    kind: str
    cost: Fraction
    confidence: Fraction
    profile: Profile | None = None
    stated: int | None = None
    where_first: bool = False
    strategy: Strategy = NOTHING_DECIDED
    tried: Plan | None = None
    over_groups: bool = False

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
        checked = check(self.aggregates, every_row=self.strategy.every_row)
        return dict(zip(needed, (one for part in checked for one in part), strict=True))

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
        by_profile, by_noise = split_missed(self.left_out, output, self.confidence)
        most, sides, missed, leaves = 0.0, 0, float(by_noise), output.aggregate.leaves()
        formula = leaves != (output.aggregate,)
        for leaf in leaves:
            lost = 0.0
            for measure, factor in zip(leaf.measures(), leaf.noise_factors, strict=True):
                below, above = self.left_out.bounds(measure.text, by_profile)
                if below is None or above is None:
                    return math.inf
                # Of a formula the noise on the other side may be cut off, so that the longer side has to be no longer.
                room = 2 * max(-below, above) if formula else above - below
                lost, sides = max(lost, factor * room), sides + bool(below) + bool(above)
            most += lost
        found = [2 * self.noise_of(output, missed, 0 if formula else most) + most]
        if sides and self.over_groups and self.question.public and added_up(output.aggregate):
            for lost in (missed * float(part) for part in TO_GROUPS):
                even = most / max(1, lost * self.aggregates[0].group_count / sides)
                found.append(2 * self.noise_of(output, missed - lost, even) + even)
        return min(found)

    def noise_of(self, output: Output, missed: float, room: float = 0) -> float:
        """What the noise of an output stays within, except with this probability, of means times the number of rows.

        `room` is how far apart the ends of what is left out are, as `noise_reach` has it.
        """
        aggregate, leaves = output.aggregate, output.aggregate.leaves()
        reached = (pair for leaf in leaves for pair in zip(leaf.measures(), leaf.noise_factors, strict=True))
        pairs = [(measure, factor) for measure, factor in reached if factor]
        if aggregate.coefficients is not None and len(pairs) == 2:
            scales = [factor * self._scale(measure) for measure, factor in pairs]
            return together(scales, missed, room, gaussian=self.kind == "zcdp")
        if len(pairs) == 1:
            ((measure, factor),) = pairs
            return factor * self._noise(measure, missed, room / factor)
        return sum(factor * self._noise(measure, missed / aggregate.confidence_split) for measure, factor in pairs)

    @cached_property
    def _shares(self) -> Mapping[Measure, Fraction]:
        shares = self.strategy.shares or (Fraction(1, len(self.moved)),) * len(self.moved)
        return dict(zip(self.moved, shares, strict=True))

    def _paid(self, measure: Measure) -> float:
        return float(self.cost * self._shares[measure])

    def _scale(self, measure: Measure) -> float:
        moved, paid = self.moved[measure], self._paid(measure)
        return math.sqrt(float(moved.l2_squared) / (2 * paid)) if self.kind == "zcdp" else float(moved.l1) / paid

    def _noise(self, measure: Measure, missed: float, room: float = 0) -> float:
        """The same for one measure, or a rank: an estimate, never less."""
        if isinstance(measure, Choice):
            low, high = measure.value.bounds
            paid = self._paid(measure)
            epsilon = math.sqrt(8 * paid) if self.kind == "zcdp" else paid
            return 2 * float(self.moved[measure].l1) / epsilon * math.log((high - low + 1) / missed)
        scale = self._scale(measure)
        if self.kind == "zcdp":
            noise = NormalDist(0, scale)
            far = noise.cdf(noise.inv_cdf(missed) - room) / missed  # falls with the width, which is more than this
            return max(0.0, -noise.inv_cdf(missed / (1 + far)))
        return max(0.0, scale * math.log((1 + math.exp(-room / scale)) / (2 * missed)))


def reasons(plan: Plan) -> Iterator[str]:
    """What a plan does with rows, totals and values, and what that leaves out at most."""
    profile, rows = plan.profile, plan.strategy.rows
    if plan.stated is not None:
        yield f"At most {counted(plan.stated, 'row')} of each owner, as stated{_order(plan)}."
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


def _order(plan: Plan) -> str:
    """Where conditions choose among rows: whether the limit is on those that they keep."""
    if not chooses_rows(plan.question.source, plan.stated):
        return ""
    if plan.strategy.where_first:
        kept = "WHERE keeps" if path_to_table(plan.question.source) else "conditions on them alone keep"
        return f', of those that {kept} (limit_rows="before_where" is the quicker plan)'
    return ', taken before WHERE (limit_rows="after_where" takes a window, and counts more of the rows asked about)'


def _left_out(plan: Plan) -> str:
    known = plan.profile.rows if plan.profile is not None else None
    missed = (1 - plan.confidence) * OF_PROFILE
    lost = 0 if known is None else known.excess(plan.strategy.rows or known.top, missed)
    sure = f"with probability {float(1 - missed) * 100:.10g}%"
    return f"{sure} at most {counted(lost, 'row')} {'is' if lost == 1 else 'are'} left out of any group"
