"""The price of a question and the noise it buys, from the plan and declared metadata alone.

Under a pure budget each measure gets discrete Laplace noise, under a zCDP budget rounded Gaussian noise. Equal shares:
for an average that is the split with the smallest worst-case error, since its two measures then err alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.currency import Currency, Price
from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace
from dither.neighbours import Relation
from dither.parameters import Number, positive
from dither.sensitivity import Sensitivity
from dither.sql.bound import plan
from dither.sql.check import check
from dither.sql.lower import lower
from dither.sql.plan import Aggregate, Measure
from dither.sql.question import Question
from dither.sql.statement import Statement

Mechanism = Laplace | Gaussian


@dataclass(frozen=True)
class PricedMeasure:
    """A measure with its proven sensitivity and the mechanism that its share of the price buys."""

    measure: Measure
    sensitivity: Sensitivity
    mechanism: Mechanism

    def parameters(self) -> dict[str, str]:
        """The mechanism as text, read back by `mechanism_from`."""
        return _parameters(self.mechanism)


@dataclass(frozen=True)
class PricedQuestion:
    """All that can be known before paying: computed with no engine at hand."""

    question: Question
    aggregates: tuple[Aggregate, ...]
    statements: tuple[Statement, ...]
    measures: tuple[PricedMeasure, ...]  # in the order of the aggregates' own measures
    price: Price
    asked: dict[str, str]  # the price as the analyst stated it

    @property
    def snapshot(self) -> str:
        """The data that this question is about: a counter, never derived from content."""
        return f"{self.question.table.name}#{self.question.table.snapshot}"

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
    if delta is not None:
        raise ParameterError(
            "delta= pays for keys taken from the data; all keys of this query are public: leave it out."
        )
    total = currency.price_of(
        epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
        rho=None if rho is None else positive(rho, "rho"),
    )
    aggregates = plan(question)
    sensitivities = [item for checked in check(aggregates) for item in checked]
    needed = [measure for aggregate in aggregates for measure in aggregate.measures]
    share = total.cost / len(needed)
    measures = tuple(
        PricedMeasure(measure, sensitivity, _mechanism(currency.kind, share, sensitivity))
        for measure, sensitivity in zip(needed, sensitivities, strict=True)
    )
    asked = {"epsilon": str(epsilon)} if rho is None else {"rho": str(rho)}
    return PricedQuestion(question, aggregates, tuple(map(lower, aggregates)), measures, total, asked)


def mechanism_from(parameters: Mapping[str, str]) -> Mechanism:
    """The mechanism that `PricedMeasure.parameters` describes."""
    name, sensitivity = parameters["mechanism"], parameters["sensitivity"]
    if name == "Laplace":
        return Laplace(epsilon=parameters["epsilon"], sensitivity=sensitivity, relation=Relation.OWNER)
    if name == "Gaussian":
        return Gaussian(rho=parameters["rho"], sensitivity=sensitivity, relation=Relation.OWNER)
    raise ParameterError(f"unknown mechanism {name!r} in a stored answer; it was made by another version of dither.")


def _mechanism(kind: str, share: Fraction, sensitivity: Sensitivity) -> Mechanism:
    try:
        if kind == "zcdp":
            return Gaussian(rho=share, sensitivity=sensitivity.l2, relation=Relation.OWNER)
        return Laplace(epsilon=share, sensitivity=sensitivity.l1, relation=Relation.OWNER)
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


def _parameters(mechanism: Mechanism) -> dict[str, str]:
    sensitivity = str(mechanism.sensitivity)
    if isinstance(mechanism, Laplace):
        return {"mechanism": "Laplace", "epsilon": str(mechanism.epsilon), "sensitivity": sensitivity}
    return {"mechanism": "Gaussian", "rho": str(mechanism.rho), "sensitivity": sensitivity}
