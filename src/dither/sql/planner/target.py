"""The smallest price at which every column errs by no more than was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dither.errors import ErrorUnpriced, ParameterError
from dither.exact.digits import decimal
from dither.sensitivity import Sensitivity
from dither.sql.plan.nodes import Choice, Measure
from dither.sql.plan.question import Output, Question
from dither.sql.planner.candidate import Plan, reasons, split_missed
from dither.sql.planner.mechanism_choice import Mechanism
from dither.sql.planner.passes import LIMITS, decided
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.measure_errors import errors_of

Buy = Callable[[Fraction, Measure, Sensitivity], Mechanism]

_DIGITS = 5  # of a price that was found: within 1/10000 of the smallest
_ROUNDS = 6
_LEAST, _MOST = Fraction(1, 10**9), Fraction(9000)
_PARTS = 10_000


@dataclass(frozen=True)
class Target:
    """How far the exact answer may be from what is shown, in shown units, and with which confidence."""

    error: Fraction
    confidence: Fraction


def solve(plan: Plan, target: Target, buy: Buy) -> tuple[Fraction, Strategy]:
    """The price (rounded up to five digits) and the strategy; what the price buys depends on the price, so in rounds.

    Of averages the error depends on how many rows a group has: that is taken from the profile, or refused.
    """
    best = search = _Search(decided(replace(plan, profile=None), LIMITS), _group_size(plan), target, buy)
    cost = least = search.smallest()
    tried = [search.plan.strategy]
    for _ in range(_ROUNDS if plan.profile is not None else 0):
        search = replace(search, plan=decided(replace(plan, cost=cost), LIMITS))
        if search.plan.strategy in tried or search.width(_MOST) > target.error:
            break
        tried.append(search.plan.strategy)
        cost = search.smallest()
        best, least = (search, cost) if cost < least else (best, least)
    told = f"The price is the smallest at which all columns err by at most {decimal(target.error)}"
    if any(output.aggregate.depends_on_size for output in _visible(plan.question)):
        told += f", if a group has about {best.rows:,} rows, as the profile says"
    split = tuple(best.shares.values())
    why = " ".join([*reasons(best.plan), f"{told}."])
    return least, replace(best.plan.strategy, shares=split if len(set(split)) > 1 else (), why=why)


@dataclass(frozen=True)
class _Search:
    """For the price of one plan, whose groups have about so many `rows`."""

    plan: Plan
    rows: int
    target: Target
    buy: Buy

    @cached_property
    def shares(self) -> Mapping[Measure, Fraction]:
        """Shares with which all columns err alike: in proportion to each measure's reach, squared for rho."""
        factors: dict[Measure, float] = {}
        for leaf in (leaf for output in self.plan.answered.outputs for leaf in output.aggregate.leaves()):
            near = max(1, self.rows) if leaf.depends_on_size else 1
            for measure, factor in zip(leaf.measures(), leaf.noise_factors, strict=True):
                factors[measure] = max(factors.get(measure, 0.0), factor / near)
        squared = self.plan.kind == "zcdp"
        reaches = []
        for measure, moved in self.plan.moved.items():
            reach = float(moved.l2 if squared else moved.l1) * factors.get(measure, 1.0)
            reaches.append(reach**2 if squared else reach)
        parts = [max(1, round(_PARTS * reach / sum(reaches))) for reach in reaches]
        return {measure: Fraction(part, sum(parts)) for measure, part in zip(self.plan.moved, parts, strict=True)}

    def smallest(self) -> Fraction:
        """Bisection: the error falls as the price rises."""
        low, high = math.log(_LEAST), math.log(_MOST)
        if self.width(_MOST) > self.target.error:
            raise ParameterError(f"no price buys an error of {decimal(self.target.error)} here; allow a larger one.")
        for _ in range(60):
            if high - low < 10.0 ** -(_DIGITS + 1):
                break
            middle = (low + high) / 2
            low, high = (low, middle) if self.width(_rounded(middle)) <= self.target.error else (middle, high)
        return _rounded(high)

    def width(self, cost: Fraction) -> Fraction:
        """How far the exact value of any column may be from what is shown at this price."""
        return max(self._column(output, cost) for output in _visible(self.plan.answered))

    def _column(self, output: Output, cost: Fraction) -> Fraction:
        needed = output.aggregate.measures()
        try:
            bought = [self.buy(cost * self.shares[m], m, self.plan.moved[m]) for m in needed]
        except ParameterError:  # noise too wide to be drawn, or hardly any
            return Fraction(0) if cost > 1 else Fraction(10**30)
        by_profile, by_noise = split_missed(self.plan.left_out, output, self.target.confidence)
        ends = [self.plan.left_out.bounds(measure.text, by_profile) for measure in needed]
        lost = [max(-below, above) if below is not None and above is not None else 0 for below, above in ends]
        noise = errors_of(output.aggregate, bought, 1 - by_noise)
        found = output.aggregate.half_width_at(
            self.rows, [error + more for error, more in zip(noise, lost, strict=True)]
        )
        if found is None:
            raise ErrorUnpriced(
                output.name, f"how far {output.name!r} will be off follows from values not known beforehand;"
            )
        return found


def _visible(question: Question) -> Sequence[Output]:
    return [question.outputs[item.index] for item in question.order if item.kind == "output"]


def _group_size(plan: Plan) -> int:
    """About how many rows a group has, as the profile says; refused where a price depends on it and it does not."""
    rows = 0
    if plan.profile is not None and plan.question.public:
        rows = max(1, plan.profile.fewest_rows // plan.aggregates[0].group_count) if plan.profile.rows else 0
    for output in _visible(plan.question):
        if any(isinstance(measure, Choice) for measure in output.aggregate.measures()):
            raise ErrorUnpriced(output.name, f"{output.name!r} is chosen by its rank, so its error is one of ranks;")
        if output.aggregate.depends_on_size and not rows:
            raise ErrorUnpriced(
                output.name,
                f"the error of {output.name!r} depends on how many rows a group has, which only a profile of the table "
                "tells (and only for groups known beforehand);",
                by_profile=True,
            )
    return rows


def _rounded(logarithm: float) -> Fraction:
    """A price in five digits, rounded up."""
    value = math.exp(logarithm)
    place = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return math.ceil(Fraction(value) / place) * place
