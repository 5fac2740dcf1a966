"""What a budget counts in, fixed when it is made, and what a question or a mechanism costs in it.

| budget | kind | cost | delta |
|---|---|---|---|
| `PureDP(e)` | pure | epsilons add | none |
| `ApproxDP(e, d)` | zcdp | rho adds, up to the rho that converts to e at d/2 | additive deltas, up to d/2 |
| `ApproxDP(e, d, composition="basic")` | basic | epsilons add | deltas add |
| `ZCDP(r, d)` | zcdp | rho adds, up to r | additive deltas, up to d |
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import COST_UNIT, epsilon_units_of_rho, largest_rho
from dither.accounting.guarantees.gaussian_curve import epsilon_priced_at, price_in_rho
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError, RelationMismatch
from dither.exact.parameters import Number, ceil_units, floor_units, non_negative, positive
from dither.exact.short_forms import ShortForm
from dither.neighbours import Relation

Kind = Literal["pure", "zcdp", "basic"]

# Units of 1e-15 in 64-bit integers reach 9223; a budget near that protects nobody anyway.
LARGEST_CAP = Fraction(9000)
DELTA_PARTS = 10**15

# Why other guarantees do not bound a sum whose terms are chosen along the way.
_NOT_FILTERS = {
    "PLD": " A privacy-loss distribution prices plans fixed in advance; it is not a running filter.",
    "RDP": " A Renyi curve bounds adaptive costs at one order fixed in advance only; hold a ZCDP budget.",
    "GDP": " Hold ZCDP(mu^2/2), which Gaussian noise of mu fills exactly and which can pay for other mechanisms too.",
    "Composition": " Its curves hold for parts fixed in advance; state one guarantee.",
}


@dataclass(frozen=True, repr=False)
class Price(ShortForm):
    """An amount of a currency: epsilon or rho, and additive delta."""

    cost: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Currency:
    """The kind of a budget and its two caps, exact. Its sums are privacy filters: valid for adaptive prices."""

    kind: Kind
    cap_cost: Fraction
    cap_delta: Fraction
    conversion_delta: Fraction | None
    relation: Relation

    @classmethod
    def of(cls, budget: Guarantee, relation: Relation | str | None = None) -> Currency:
        """The currency of a budget; `relation` states the relation of its holder (a curator's budget is per owner)."""
        held = budget.relation if relation is None else Relation.read(relation)
        if isinstance(budget, PureDP):
            return cls("pure", _cap(budget.epsilon), Fraction(0), None, held)
        if isinstance(budget, ZCDP):
            return cls("zcdp", _cap(budget.rho), budget.delta, None, held)
        if not isinstance(budget, ApproxDP):
            reason = _NOT_FILTERS.get(type(budget).__name__, "")
            raise ParameterError(f"a budget is PureDP, ApproxDP or ZCDP; got {type(budget).__name__}.{reason}")
        epsilon = _cap(budget.epsilon)
        if budget.composition == "basic":
            return cls("basic", epsilon, budget.delta, None, held)
        half = budget.delta / 2
        return cls("zcdp", _cap(largest_rho(epsilon, half)), half, half, held)

    def price_of(self, epsilon: Number | None = None, rho: Number | None = None, delta: Number = 0) -> Price:
        """The price that a request states: exactly one of epsilon and rho, and an additive delta where one is needed.

        Under a rho budget, epsilon=e costs the rho of the Gaussian mechanism that is (e, conversion_delta)-DP.
        """
        if (epsilon is None) == (rho is None):
            raise ParameterError("state the price once: give epsilon= or rho=.")
        extra = non_negative(delta, "delta")
        if extra and self.kind == "pure":
            raise ParameterError("a pure budget has no delta to spend; leave delta out, or hold an ApproxDP budget.")
        if rho is not None:
            if self.kind != "zcdp":
                raise ParameterError(f"a {self.kind} budget counts in epsilon; give epsilon= instead of rho=.")
            return Price(positive(rho, "rho"), extra)
        stated = positive(epsilon, "epsilon")  # type: ignore[arg-type]
        if self.kind != "zcdp":
            return Price(stated, extra)
        if not stated <= LARGEST_CAP:
            raise ParameterError(f"epsilon must be at most {LARGEST_CAP}; got {float(stated):g}.")
        cost = price_in_rho(stated, self._conversion("price epsilon="))
        if not cost:
            raise ParameterError(f"epsilon={float(stated):g} is below the smallest price; give a larger one.")
        return Price(cost, extra)

    def with_keys(self, price: Price, delta: Number | None = None) -> Price:
        """The price of a question that takes keys from the data: `delta`, or a thousandth of all that there is."""
        if self.kind == "pure" or not self.cap_delta:
            raise ParameterError(
                "keys taken from the data need a delta, which this budget does not have; group by columns with public "
                "values, such as Category or Int, or hold an ApproxDP budget."
            )
        return Price(price.cost, self.cap_delta / 1000 if delta is None else positive(delta, "delta"))

    def charge_of(self, guarantee: Guarantee) -> Price:
        """What a mechanism with this guarantee costs; refused where the budget's currency does not know it."""
        if not isinstance(guarantee, Guarantee):
            raise ParameterError(f"only guarantees are charged; got {type(guarantee).__name__}.")
        if guarantee.relation is not self.relation:
            raise RelationMismatch(
                f"the budget is held under the relation {self.relation.value}, "
                f"the guarantee is under {guarantee.relation.value}."
            )
        if self.kind == "zcdp":
            concentrated = guarantee.zcdp()
            return Price(concentrated.rho, concentrated.delta)
        stated = guarantee.basic()
        if self.kind == "pure" and stated.delta:
            raise ParameterError(
                "a pure budget pays for pure mechanisms only; use Laplace, or hold an ApproxDP budget."
            )
        return Price(stated.epsilon, stated.delta)

    def epsilon_for(self, cost: Fraction) -> Fraction:
        """The largest epsilon (rounded down) that a request may state if `cost` is left."""
        if self.kind != "zcdp" or cost <= 0:
            return max(cost, Fraction(0))
        return epsilon_priced_at(cost, self._conversion("show epsilon"))

    def spent_epsilon(self, cost: Fraction) -> Fraction:
        """The epsilon (rounded up) that `cost` amounts to, at the budget's conversion delta."""
        if self.kind != "zcdp" or cost <= 0:
            return max(cost, Fraction(0))
        return epsilon_units_of_rho(cost, self._conversion("show epsilon"))

    def units_of(self, price: Price) -> tuple[int, int]:
        """A price in whole units, rounded up: 1e-15 of cost, and a 1e-15 part of the delta cap."""
        delta = (
            ceil_units(price.delta, self.cap_delta / DELTA_PARTS)
            if self.cap_delta
            else (DELTA_PARTS + 1) * (price.delta > 0)
        )
        return ceil_units(price.cost, COST_UNIT), delta

    @property
    def cap_units(self) -> tuple[int, int]:
        """The caps in whole units, rounded down."""
        return floor_units(self.cap_cost, COST_UNIT), DELTA_PARTS if self.cap_delta else 0

    def _conversion(self, purpose: str) -> Fraction:
        if self.conversion_delta is None:
            raise ParameterError(f"a ZCDP budget has no delta at which to {purpose}; count in rho=.")
        return self.conversion_delta


def _cap(amount: Fraction) -> Fraction:
    if not COST_UNIT <= amount <= LARGEST_CAP:
        raise ParameterError(
            f"a budget must be between 1e-15 and {LARGEST_CAP} in epsilon or rho; got {float(amount):g}."
        )
    return amount
