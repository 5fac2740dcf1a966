"""The price of a question and the noise it buys, from the plan and declared metadata alone.

Under a pure budget each measure gets discrete Laplace noise, under a zCDP budget rounded Gaussian noise; values are
chosen by the exponential mechanism, keys by a noisy count of owners. Equal shares: for an average that is the split
with the smallest worst-case error, since its two measures then err alike.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.currency import Currency, Price
from dither.errors import ParameterError
from dither.parameters import Number, positive
from dither.sensitivity import Sensitivity
from dither.sql.bound import plan
from dither.sql.buying import Mechanism, additive, choosing, mechanism_from, parameters_of, selecting
from dither.sql.check import check
from dither.sql.lower import lower
from dither.sql.plan import Aggregate, Choice, Measure
from dither.sql.question import Question
from dither.sql.statement import Statement

__all__ = ["Mechanism", "PricedMeasure", "PricedQuestion", "mechanism_from", "price"]


@dataclass(frozen=True)
class PricedMeasure:
    """A measure with its proven sensitivity and the mechanism that its share of the price buys."""

    measure: Measure
    sensitivity: Sensitivity
    mechanism: Mechanism

    def parameters(self) -> dict[str, str]:
        """The mechanism as text, read back by `mechanism_from`."""
        return parameters_of(self.mechanism)


@dataclass(frozen=True)
class PricedQuestion:
    """All that can be known before paying: computed with no engine at hand."""

    question: Question
    aggregates: tuple[Aggregate, ...]
    statements: tuple[Statement, ...]
    measures: tuple[PricedMeasure, ...]  # in the order of the aggregates' own measures
    price: Price
    asked: dict[str, str]  # the price as the analyst stated it
    currency: str  # what the price is counted in: "rho" or "epsilon"

    @property
    def snapshot(self) -> str:
        """The data that this question is about: counters, never derived from content."""
        return self.question.snapshot

    def recipe(self) -> str:
        """What will be run, as the ledger records it: a later run under the same charge must be the same."""
        steps = {
            "statements": [statement.sql for statement in self.statements],
            "mechanisms": [priced.parameters() for priced in self.measures],
        }
        return json.dumps(steps, sort_keys=True, separators=(",", ":"))


def price(
    question: Question,
    currency: Currency,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
) -> PricedQuestion:
    """Split one stated price over all measures of the question, so that together they cost it once."""
    if (epsilon is None) == (rho is None):
        raise ParameterError('state the price of the query once: epsilon="0.5", or rho="0.01" under a zCDP budget.')
    if delta is not None and question.public:
        raise ParameterError(
            "delta= pays for keys taken from the data; all keys of this query are public: leave it out."
        )
    total = currency.price_of(
        epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
        rho=None if rho is None else positive(rho, "rho"),
    )
    if not question.public:
        total = currency.with_keys(total, None if delta is None else positive(delta, "delta"))
    aggregates = plan(question)
    sensitivities = [item for checked in check(aggregates) for item in checked]
    needed = [measure for aggregate in aggregates for measure in aggregate.answers]
    share = total.cost / len(needed)
    measures = []
    for place, (measure, sensitivity) in enumerate(zip(needed, sensitivities, strict=True)):
        if not question.public and not place:
            mechanism = selecting(currency.kind, share, sensitivity, total.delta)
        else:
            mechanism = _mechanism(currency.kind, share, measure, sensitivity)
        measures.append(PricedMeasure(measure, sensitivity, mechanism))
    asked = {"epsilon": str(epsilon)} if rho is None else {"rho": str(rho)}
    counted = "rho" if currency.kind == "zcdp" else "epsilon"
    return PricedQuestion(question, aggregates, tuple(map(lower, aggregates)), tuple(measures), total, asked, counted)


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
