"""Budgets as people read them: what was granted, spent and is left, in the terms the budget was declared in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency import Currency
from dither.accounting.guarantee import Guarantee
from dither.errors import BudgetExceeded, PolicyError, RelationMismatch
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.ledger import Balance, Charge

Budget = PureDP | ApproxDP

_WIDTH = 30  # characters of the bar
_ADDING = " (rho adds up; epsilon here is the dearest single question that still fits)"


@dataclass(frozen=True)
class Amount:
    """A part of a budget; fields a kind of budget does not have are None."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @property
    def adding(self) -> Fraction:
        """The figure that adds up in this kind of budget."""
        return (self.epsilon or Fraction(0)) if self.rho is None else self.rho

    def figures(self, *, up: bool, digits: int = 4) -> dict[str, str]:
        """The fields this kind has, as text rounded to the side that promises less."""
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: decimal_text(value, up=up, digits=digits) for name, value in named.items() if value is not None}

    def shown(self, *, up: bool) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.figures(up=up).items())


@dataclass(frozen=True, repr=False)
class BudgetView:
    """Of one account: granted, spent (rounded up) and left (rounded down)."""

    kind: str
    total: Amount
    spent: Amount
    left: Amount

    def __repr__(self) -> str:
        spent, left = self.spent.shown(up=True), self.left.shown(up=False)
        return f"<BudgetView: granted {self.total.shown(up=False)}; spent {spent}; left {left}>"

    def within(self, people: BudgetView) -> BudgetView:
        """An analyst's account: no more is left of a cap than of the people's budget."""
        return self if self.left.adding <= people.left.adding else replace(self, left=people.left)

    def __str__(self) -> str:
        share = self.spent.adding / self.total.adding if self.total.adding else Fraction(1)
        full = -(-_WIDTH * share.numerator // share.denominator)
        return "\n".join(
            [
                f"granted: {self.total.shown(up=False)}",
                f"  [{'#' * full}{'.' * (_WIDTH - full)}] {float(share):.1%} spent: {self.spent.shown(up=True)}",
                f"  left: {self.left.shown(up=False)}" + (_ADDING if self.kind == "zcdp" else ""),
            ]
        )


def decimal_text(value: Fraction, *, up: bool, digits: int = 4) -> str:
    """A few significant digits, rounded to the side that promises less.

    >>> decimal_text(Fraction(1, 3), up=True), decimal_text(Fraction(1, 3), up=False)
    ('0.3334', '0.3333')
    """
    with localcontext(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR):
        number = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    return f"{number:f}" if Decimal("0.0001") <= abs(number) < 10**digits or not number else f"{number:e}"


def terms_of(budget: Budget) -> dict[str, str]:
    """The budget as the ledger keeps it: exact text, read back by `budget_from`."""
    if isinstance(budget, Guarantee) and budget.relation not in (Relation.ADD_REMOVE, Relation.OWNER):
        raise RelationMismatch(
            f"a curator protects owners added or removed; a budget under {budget.relation.value!r} does not apply."
        )
    if isinstance(budget, PureDP):
        return {"budget": "PureDP", "epsilon": str(budget.epsilon)}
    if isinstance(budget, ApproxDP):
        return {
            "budget": "ApproxDP",
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "composition": budget.composition,
        }
    raise PolicyError(f'a budget is PureDP(4) or ApproxDP(4, "1e-6"); got {type(budget).__name__}.')


def budget_from(terms: Mapping[str, str]) -> Budget:
    """The budget that `terms_of` wrote."""
    if terms["budget"] == "PureDP":
        return PureDP(terms["epsilon"], relation=Relation.OWNER)
    return ApproxDP(terms["epsilon"], terms["delta"], composition=terms["composition"], relation=Relation.OWNER)


def view(budget: Budget, balance: Balance, people: Budget) -> BudgetView:
    """An account's balance in the terms of its budget; what is left is told as a price on the people's budget."""
    currency = Currency.of(budget)
    if currency.kind != "zcdp":
        return BudgetView(currency.kind, *(_plain(currency, part) for part in _parts(balance)))
    cap, spent, left = _parts(balance)
    conversion = budget.delta - currency.cap_delta
    return BudgetView(
        currency.kind,
        total=Amount(budget.epsilon, budget.delta, cap.cost),
        spent=Amount(currency.spent_epsilon(spent.cost), (conversion if spent.cost else 0) + spent.delta, spent.cost),
        left=Amount(Currency.of(people).epsilon_for(left.cost), left.delta, left.cost),
    )


def too_dear(
    asked: Mapping[str, str], charge: Charge, people: BudgetView, analyst: BudgetView | None
) -> BudgetExceeded:
    """The refusal of a price that does not fit, with the largest one that would.

    An analyst whose own cap is the obstacle is not told what others have left of the people's budget.
    """
    stated = ", ".join(f"{name}={value}" for name, value in asked.items())
    if charge.delta and "delta" not in asked:
        stated += f" with delta={float(charge.delta):.3g} for keys from the data"
    capped = analyst is not None and not (
        charge.cost <= analyst.left.adding and charge.delta <= (analyst.left.delta or 0)
    )
    whose = "this analyst's own cap" if capped else "the people's budget"
    left = _left(analyst if analyst is not None and capped else people, delta=bool(charge.delta))
    return BudgetExceeded(
        f"the price {stated} does not fit into what is left of {whose}: {left}. "
        "Nothing was charged and no data were read."
    )


def _left(account: BudgetView, *, delta: bool) -> str:
    figures = account.left.figures(up=False, digits=6)
    return ", ".join(f"{name} at most {text}" for name, text in figures.items() if delta or name != "delta")


def _parts(balance: Balance) -> tuple[Charge, Charge, Charge]:
    return balance.cap, balance.spent, balance.left


def _plain(currency: Currency, part: Charge) -> Amount:
    return Amount(part.cost, None if currency.kind == "pure" else part.delta, None)
