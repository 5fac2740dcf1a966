"""The smallest price at which every column errs by no more than was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.errors import ErrorUnpriced, ParameterError
from dither.exact.digits import decimal
from dither.sensitivity import Sensitivity
from dither.sql.guard.check import check
from dither.sql.plan.aggregates import Aggregator, Average, Variance
from dither.sql.plan.measures import shown
from dither.sql.plan.nodes import Aggregate, Choice, Measure
from dither.sql.plan.question import Output, Question
from dither.sql.planner.error_sums import errors_of, scaled_errors
from dither.sql.planner.mechanism_choice import Mechanism
from dither.sql.planner.passes import answered, planned
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.profiles.row_spread import Owners
from dither.sql.planner.row_limits import choose
from dither.sql.planner.split import leaves
from dither.sql.planner.strategy import Strategy

Buy = Callable[[Fraction, Measure, Sensitivity], Mechanism]

_DIGITS = 5  # of a price that was found: within 1/10000 of the smallest
_ROUNDS = 6
_LEAST, _MOST = Fraction(1, 10**9), Fraction(9000)
_PARTS = 10_000


@dataclass(frozen=True)
class Target:
    """A half-width in shown units, and the confidence with which it must hold."""

    error: Fraction
    confidence: Fraction


def solve(
    question: Question,
    kind: str,
    target: Target,
    profile: Profile | None,
    rows_per_owner: int | None,
    buy: Buy,
    adjust: bool = True,
) -> tuple[Fraction, Strategy]:
    """The price (rounded up to five digits) and the strategy; what the price buys depends on the price, so in rounds.

    Of averages the error depends on how many rows a group has: that is taken from the profile, or refused.
    """
    cost = Fraction(1)
    tried: set[object] = set()
    while True:
        chosen = choose(question, kind, cost, profile, rows_per_owner, adjust)
        found = _Plan.of(answered(question, chosen), kind, chosen, profile, buy)
        cost = found.smallest(target)
        decided = (chosen.rows, chosen.totals, chosen.cut, chosen.factor, chosen.bounds)
        if decided in tried or len(tried) == _ROUNDS:
            break
        tried.add(decided)
    told = f"The price is the smallest at which all columns err by at most {decimal(target.error)}"
    if found.assumes_size:
        told += f", if a group has about {found.rows:,} rows, as the profile says"
    return cost, replace(found.strategy, why=" ".join(part for part in (chosen.why, told + ".") if part))


@dataclass(frozen=True)
class _Plan:
    question: Question
    kind: str
    strategy: Strategy
    moved: Mapping[Measure, Sensitivity]
    shares: Mapping[Measure, Fraction]
    rows: int  # of a group
    buy: Buy

    @classmethod
    def of(cls, question: Question, kind: str, chosen: Strategy, profile: Profile | None, buy: Buy) -> _Plan:
        aggregates = planned(question, chosen)
        needed = [measure for aggregate in aggregates for measure in aggregate.answers]
        moved = dict(zip(needed, (one for part in check(aggregates) for one in part), strict=True))
        rows = _group_size(question, aggregates, chosen, profile)
        _refuse(question, rows)
        wanted = _wanted(question, needed, moved, kind, rows)
        shares = dict(zip(needed, wanted, strict=True))
        strategy = replace(chosen, shares=wanted if len(set(wanted)) > 1 else ())
        return cls(question, kind, strategy, moved, shares, rows, buy)

    @property
    def assumes_size(self) -> bool:
        return any(output.aggregate.depends_on_size for output in _visible(self.question))

    def smallest(self, target: Target) -> Fraction:
        """Bisection: the error falls as the price rises."""
        low, high = math.log(_LEAST), math.log(_MOST)
        if self.width(_MOST, target) > target.error:
            raise ParameterError(f"no price buys an error of {decimal(target.error)} here; allow a larger one.")
        for _ in range(60):
            if high - low < 10.0 ** -(_DIGITS + 1):
                break
            middle = (low + high) / 2
            low, high = (low, middle) if self.width(_rounded(middle), target) <= target.error else (middle, high)
        return _rounded(high)

    def width(self, cost: Fraction, target: Target) -> Fraction:
        """The widest half-width of any column at this price."""
        return max(self._column(output, cost, target.confidence) for output in _visible(self.question))

    def _column(self, output: Output, cost: Fraction, confidence: Fraction) -> Fraction:
        try:
            bought = [self.buy(cost * self.shares[m], m, self.moved[m]) for m in output.aggregate.measures()]
        except ParameterError:  # noise too wide to be drawn, or hardly any
            return Fraction(0) if cost > 1 else Fraction(10**30)
        needed = output.aggregate.measures()
        errors = scaled_errors(
            errors_of(output.aggregate, bought, confidence), [self.strategy.factor_of(measure) for measure in needed]
        )
        found = output.aggregate.half_width_at(self.rows, errors)
        if found is None:
            raise ErrorUnpriced(
                output.name, f"how far {output.name!r} will be off follows from values not known beforehand;"
            )
        return found


def _visible(question: Question) -> Sequence[Output]:
    return [question.outputs[item.index] for item in question.order if item.kind == "output"]


def _group_size(question: Question, aggregates: Sequence[Aggregate], chosen: Strategy, profile: Profile | None) -> int:
    if profile is None or profile.rows is None or not question.public:
        return 0
    owners = Owners.of(profile.rows, profile.most)
    kept = owners.total - (float(owners.lost(chosen.rows)) if chosen.rows is not None else 0.0)
    return max(1, int(kept / aggregates[0].group_count))


def _refuse(question: Question, rows: int) -> None:
    for output in _visible(question):
        if any(isinstance(measure, Choice) for measure in output.aggregate.measures()):
            raise ErrorUnpriced(output.name, f"{output.name!r} is chosen by its rank, so its error is one of ranks;")
        if output.aggregate.depends_on_size and not rows:
            raise ErrorUnpriced(
                output.name,
                f"the error of {output.name!r} depends on how many rows a group has, which only a profile of the table "
                "tells (and only for groups known beforehand);",
                by_profile=True,
            )


def _wanted(
    question: Question, needed: Sequence[Measure], moved: Mapping[Measure, Sensitivity], kind: str, rows: int
) -> tuple[Fraction, ...]:
    """Shares with which all columns err alike: in proportion to each measure's reach, squared for rho."""
    factors: dict[Measure, float] = {}
    for output in question.outputs:
        for leaf in leaves(output.aggregate):
            for measure, factor in zip(leaf.measures(), _factors(leaf, rows), strict=True):
                factors[measure] = max(factors.get(measure, 0.0), factor)
    reaches = []
    for measure in needed:
        reach = float(moved[measure].l2 if kind == "zcdp" else moved[measure].l1) * factors.get(measure, 1.0)
        reaches.append(reach**2 if kind == "zcdp" else reach)
    parts = [max(1, round(_PARTS * reach / sum(reaches))) for reach in reaches]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def _factors(leaf: Aggregator, rows: int) -> list[float]:
    """How far each measure's noise reaches into what is shown."""
    if isinstance(leaf, (Average, Variance)):
        low, high = leaf.value.bounds
        reach, near = max(1, (high - low) / 2), max(1, rows)
        if isinstance(leaf, Average):
            return [1 / near, reach / near]
        return [2 * reach / near, 1 / near, 3 * reach**2 / near]
    return [float(shown(measure, 1)) for measure in leaf.measures()]


def _rounded(logarithm: float) -> Fraction:
    """A price in five digits, rounded up."""
    value = math.exp(logarithm)
    place = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return math.ceil(Fraction(value) / place) * place
