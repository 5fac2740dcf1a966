"""The price of a question and the noise it buys, from the plan and declared metadata alone.

Under a pure budget each measure gets discrete Laplace noise, under a zCDP budget rounded Gaussian noise; where epsilons
and deltas add up, Gaussian noise if a stated delta pays for it and it errs by less. Values are chosen by the
exponential mechanism, keys by a noisy count of owners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial

from dither.accounting.currency.currency import Currency, Price
from dither.accounting.guarantees.gaussian_curve import price_in_rho
from dither.errors import DeltaUnneeded, ParameterError
from dither.exact.parameters import Number, positive, probability
from dither.records.keys import key_by_error, key_with_rows
from dither.sensitivity import Sensitivity
from dither.sql.bounding.aggregations import measures
from dither.sql.guard.check import check
from dither.sql.lowering.lower import lower
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import Aggregate, Choice, Measure, OwnerTotal
from dither.sql.plan.question import Question
from dither.sql.planner.candidate import Plan, answered, lost, planned
from dither.sql.planner.mechanism_choice import (
    Mechanism,
    additive,
    choosing,
    mechanism_from,
    parameters_of,
    selecting,
)
from dither.sql.planner.noise_kinds import WORTH_IT, can_be_gaussian, decide_noise, epsilon_with
from dither.sql.planner.profile import Profile
from dither.sql.planner.strategy import Strategy
from dither.sql.planner.target import Target, solve
from dither.sql.postprocess.left_out import LeftOut
from dither.sql.pricing.recipe import Recipe

__all__ = ["Mechanism", "PricedMeasure", "PricedQuestion", "again", "mechanism_from", "price"]

AFTER_WHERE, BEFORE_WHERE = "after_where", "before_where"  # which rows a stated limit is on


@dataclass(frozen=True)
class PricedMeasure:
    """A measure with its proven sensitivity and the mechanism that its share of the price buys.

    `total` is there where the measure is computed by owners' totals although it was not asked for so.
    """

    measure: Measure
    sensitivity: Sensitivity
    mechanism: Mechanism
    total: OwnerTotal | None = None

    def parameters(self) -> dict[str, str]:
        """The mechanism as text, read back by `mechanism_from`."""
        return parameters_of(self.mechanism)


@dataclass(frozen=True)
class PricedQuestion:
    """All that can be known before paying: computed with no engine at hand."""

    question: Question
    aggregates: tuple[Aggregate, ...]
    measures: tuple[PricedMeasure, ...]  # in the order of the aggregates' own measures
    price: Price
    asked: dict[str, str]  # the price as the analyst stated it
    currency: str  # what the price is counted in: "rho" or "epsilon"
    strategy: Strategy
    answered: Question  # the question in the form that was decided
    label: str = ""  # what the ledger calls the question; without one, its canonical text
    target: Target | None = None  # the error that was asked for in place of a price
    stated_delta: Fraction | None = None  # that may be paid for Gaussian noise
    profile: Profile | None = None  # that what is left out is certified by

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The aggregations as DuckDB reads them; neither the price nor what is recorded depends on them."""
        return tuple(map(lower, self.aggregates))

    @cached_property
    def left_out(self) -> LeftOut:
        """How far each measure, without its noise, may be from that over all rows and values that are declared."""
        return lost(self.aggregates, self.strategy, self.profile)

    @property
    def paid(self) -> dict[str, str]:
        """The price as it was asked for, with the delta that is charged for keys from the data or for noise."""
        charged = {"delta": f"{float(self.price.delta):.15g}"} if self.price.delta else {}
        return {**self.asked, **charged}

    @property
    def split(self) -> tuple[str, Fraction]:
        """What measures get shares of: the price, or the rho that it buys as Gaussian noise."""
        if not self.strategy.gaussian:
            return self.currency, self.price.cost
        return "rho", price_in_rho(self.price.cost, self.price.delta)

    @property
    def snapshot(self) -> str:
        """The data that this question is about: counters, never derived from content."""
        return self.question.snapshot

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of the price that each measure gets."""
        return self.strategy.shares or (Fraction(1, len(self.measures)),) * len(self.measures)

    @property
    def known_as(self) -> str:
        """What the ledger finds a stored answer by, together with the snapshot."""
        return self.label or self.question.canonical()

    @property
    def known_by_error(self) -> str:
        """The same for an answer that was made because those stored err by more than was asked for."""
        if self.target is None:
            return self.known_as
        return key_by_error(self.known_as, self.target.error, self.target.confidence)

    def recipe(self) -> str:
        """What will be run, as the ledger records it: a later run under the same charge must be the same."""
        return Recipe.of(self).to_json()


def price(
    question: Question,
    currency: Currency,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    error: Number | None = None,
    delta: Number | None = None,
    confidence: Number = "0.95",
    rows_per_owner: int | None = None,
    limit_rows: str = AFTER_WHERE,
    over_groups: bool = False,
    profile: Profile | None = None,
    strategy: Strategy | None = None,
) -> PricedQuestion:
    """Split one stated price over all measures of the question, so that together they cost it once.

    What the plan leaves open is chosen by the profile, unless `rows_per_owner` states it or an earlier run has decided
    it (`strategy`): for intervals that hold in so many of the groups, if `over_groups`. A stated limit is on the rows
    that WHERE keeps, unless `limit_rows` says otherwise. In place of a price, `error` states how far every column may
    be off with `confidence`. `delta` pays for keys from the data; where all keys are public and epsilons and deltas add
    up, for Gaussian noise: only if it errs by less.
    """
    if sum(stated is not None for stated in (epsilon, rho, error)) != 1:
        raise ParameterError(
            'state the price of the query once: epsilon="0.5", or rho="0.01" under a zCDP budget; or error= instead.'
        )
    if delta is not None and question.public and currency.kind != "basic":
        raise DeltaUnneeded
    for_noise = None if delta is None or not question.public else probability(delta, "delta")
    target, level = None, probability(confidence, "confidence")
    if limit_rows not in (AFTER_WHERE, BEFORE_WHERE):
        raise ParameterError(f"limit_rows is {AFTER_WHERE!r} or {BEFORE_WHERE!r}; got {limit_rows!r}.")
    first = limit_rows == AFTER_WHERE
    open_ = Plan(question, currency.kind, Fraction(1), level, profile, rows_per_owner, first, over_groups=over_groups)
    if error is not None:
        target = Target(positive(error, "error"), level)
        cost, strategy = _solved(open_, target, for_noise)
        epsilon, rho = (None, _shown(cost)) if currency.kind == "zcdp" else (_shown(cost), None)
    total = currency.price_of(
        epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
        rho=None if rho is None else positive(rho, "rho"),
    )
    if not question.public:
        total = currency.with_keys(total, None if delta is None else positive(delta, "delta"))
    asked = {"epsilon": str(epsilon)} if rho is None else {"rho": str(rho)}
    if strategy is None:
        strategy = decide_noise(replace(open_, cost=total.cost), for_noise)
    made = _bought(question, currency, total, asked, strategy, for_noise)
    made = replace(made, target=target, profile=profile)
    if rows_per_owner is None:
        return made
    label = key_with_rows(question.canonical(), strategy.rows, where_first=strategy.where_first)
    return replace(made, label=label)  # no answer with another limit


def _solved(plan: Plan, target: Target, delta: Fraction | None) -> tuple[Fraction, Strategy]:
    """The smallest price for an error; where a delta may be paid, with Gaussian noise if that is clearly less."""
    cost, strategy = solve(plan, target, partial(_mechanism, plan.kind))
    if delta is None or not can_be_gaussian(plan.question):
        return cost, strategy
    rho, other = solve(replace(plan, kind="zcdp"), target, partial(_mechanism, "zcdp"))
    epsilon = epsilon_with(rho, delta)
    return (epsilon, replace(other, gaussian=True)) if epsilon < WORTH_IT * cost else (cost, strategy)


def _shown(cost: Fraction) -> str:
    """A price that was found, in decimals: it has few digits."""
    return f"{Decimal(cost.numerator) / Decimal(cost.denominator):f}"


def again(priced: PricedQuestion, currency: Currency, recipe: str) -> PricedQuestion:
    """The same question at the same price as an earlier recipe decided to answer it."""
    decided = Strategy.read(Recipe.read(recipe).strategy, measures(priced.question))
    total = Price(priced.price.cost) if priced.question.public else priced.price
    made = _bought(priced.question, currency, total, priced.asked, decided, priced.stated_delta)
    return replace(made, label=priced.label, target=priced.target, profile=priced.profile)


def _bought(
    question: Question,
    currency: Currency,
    total: Price,
    asked: dict[str, str],
    strategy: Strategy,
    for_noise: Fraction | None,
) -> PricedQuestion:
    totals = dict(strategy.totals)
    form = answered(question, strategy)
    aggregates = planned(form, strategy)
    kind, cost = currency.kind, total.cost
    asked = {name: value for name, value in asked.items() if name != "delta"}
    if strategy.gaussian:
        if kind != "basic" or for_noise is None or not can_be_gaussian(question):
            raise ParameterError("Gaussian noise at an epsilon needs a delta, where epsilons and deltas add up.")
        total = Price(cost, for_noise)
        asked["delta"] = f"{float(for_noise):.15g}"
        kind, cost = "zcdp", price_in_rho(cost, for_noise)
    sensitivities = [item for checked in check(aggregates, every_row=strategy.every_row) for item in checked]
    needed = [measure for aggregate in aggregates for measure in aggregate.answers]
    shares = strategy.shares or (Fraction(1, len(needed)),) * len(needed)
    if len(shares) != len(needed) or not sum(shares) <= 1:
        raise ParameterError("the shares of the price are not those of this plan.")
    priced = []
    for place, (measure, sensitivity) in enumerate(zip(needed, sensitivities, strict=True)):
        share = cost * shares[place]
        mechanism: Mechanism
        if not question.public and not place:
            mechanism = selecting(kind, share, sensitivity, total.delta)
        else:
            mechanism = _mechanism(kind, share, measure, sensitivity)
        priced.append(PricedMeasure(measure, sensitivity, mechanism, totals.get(measure)))
    counted = "rho" if currency.kind == "zcdp" else "epsilon"
    made = PricedQuestion(question, aggregates, tuple(priced), total, asked, counted, strategy, form)
    return replace(made, stated_delta=for_noise)


def _mechanism(kind: str, share: Fraction, measure: Measure, sensitivity: Sensitivity) -> Mechanism:
    try:
        if isinstance(measure, Choice):
            return choosing(kind, share, measure, sensitivity)
        return additive(kind, share, sensitivity)
    except ParameterError:
        # The mechanism speaks of grids and scales; an analyst has a price and columns.
        what = f"one owner can move a measure of this query by {float(sensitivity.linf):.3g}"
        if share > 1:
            raise ParameterError(
                f"{what}, and this price would leave it almost without noise; state a smaller price."
            ) from None
        raise ParameterError(
            f"{what}, and no noise that wide can be drawn; state a larger price, or ask about narrower columns."
        ) from None
