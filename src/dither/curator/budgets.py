"""Budgets as people read them: what was granted, spent and is left, in the terms the budget was declared in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency.currency import Currency
from dither.accounting.guarantees.guarantee import Guarantee
from dither.curator.budget_text import budget_line, budget_text
from dither.errors import BudgetExceeded, PolicyError, RelationMismatch
from dither.exact.digits import decimal_text as decimal_text
from dither.exact.parameters import Number, positive
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.ledger import Balance, Charge

Budget = PureDP | ApproxDP

_LEAST_EPSILON = "1e-9"  # what is left is told in whole parts of this
FROZEN, CLOSED = "frozen", "closed for good"
_NOTHING = "Nothing was charged and no data were read."


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

    def shown(self, *, up: bool, without: str = "") -> str:
        return ", ".join(f"{name} {text}" for name, text in self.figures(up=up).items() if name != without)


@dataclass(frozen=True, repr=False)
class BudgetView:
    """Of one account: granted, spent (rounded up) and left (rounded down), and what of that its holder may spend."""

    kind: str
    total: Amount
    spent: Amount
    left: Amount
    free: Amount  # all that is left, but for what is reserved for analysts
    state: str = field(default="open", kw_only=True)  # or that it is frozen, or closed for good
    changes: tuple[str, ...] = field(
        default=(), kw_only=True
    )  # how it came to what was granted in all, in words, if it was changed

    @property
    def closed(self) -> bool:
        return self.state == CLOSED

    def __repr__(self) -> str:
        return f"<budget: {budget_line(self)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return budget_text(self)


def terms_of(budget: Budget, *, oversubscribe: bool = False) -> dict[str, str]:
    """The budget as the ledger keeps it: exact text, read back by `budget_from`."""
    if oversubscribe:
        return {**terms_of(budget), "oversubscribe": "true"}
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


def cap_of(people: Budget, epsilon: Number, delta: Number | None = None) -> Budget:
    """A cap within a budget, of its kind; without a delta it has the same share of that as of epsilon.

    >>> cap_of(ApproxDP(4, "1e-6"), 1).delta == Fraction("1e-6") / 4
    True
    """
    if isinstance(people, PureDP):
        return PureDP(epsilon)
    share = min(positive(epsilon, "epsilon") / people.epsilon, Fraction(1)) if people.epsilon else Fraction(1)
    return ApproxDP(epsilon, people.delta * share if delta is None else delta, composition=people.composition)


def same_kind(here: Budget, there: Budget) -> bool:
    """Whether both count alike."""
    alike = type(here) is type(there)
    return alike and getattr(here, "composition", None) == getattr(there, "composition", None)


def check_usable(people: Budget, cap: Budget) -> None:
    """Refuse a cap into which no price in epsilon fits: where rhos add up, epsilon is priced at the people's own delta.

    A large delta makes even an epsilon near 0 cost some rho, and a cap with a small delta may have less than that.
    """
    priced, own = Currency.of(people), Currency.of(cap)
    if not priced.kind == own.kind == "zcdp" or priced.epsilon_for(own.cap_cost):
        return
    least = priced.price_of(epsilon=_LEAST_EPSILON).cost
    has, theirs = Amount(cap.epsilon, cap.delta, own.cap_cost).shown(up=False), decimal_text(people.delta, up=False)
    needed = Amount(own.spent_epsilon(least), cap.delta, None).shown(up=True)
    raise PolicyError(
        f"no price in epsilon fits into a cap of {has}: with the people's delta of {theirs} even epsilon "
        f"{_LEAST_EPSILON} costs rho {decimal_text(least, up=True)}. A cap needs {needed} or more; or give the people "
        "a smaller delta."
    )


def together_within(people: Budget, caps: Sequence[Budget]) -> bool:
    """Whether all these caps can be reserved of a budget of which nothing is spent."""
    from dither.ledger import Charge
    from dither.ledger.caps import reserved
    from dither.ledger.units import NOTHING, cap_units

    currencies = [Currency.of(budget) for budget in (people, *caps)]
    whole, *each = (Charge(currency.cap_cost, currency.cap_delta) for currency in currencies)
    together = sum((reserved(cap_units(cap), cap, whole) for cap in each), NOTHING)
    return together.fits(cap_units(whole))


def view(budget: Budget, balance: Balance, people: Budget) -> BudgetView:
    """An account's balance in the terms of its budget; what is left is told as a price on the people's budget."""
    currency = Currency.of(budget)
    if currency.kind != "zcdp":
        return BudgetView(currency.kind, *(_plain(currency, part) for part in _parts(balance)))
    cap, spent, left, free = _parts(balance)
    priced = Currency.of(people)
    conversion = budget.delta - currency.cap_delta
    return BudgetView(
        currency.kind,
        total=Amount(budget.epsilon, budget.delta, cap.cost),
        spent=Amount(currency.spent_epsilon(spent.cost), (conversion if spent.cost else 0) + spent.delta, spent.cost),
        left=Amount(priced.epsilon_for(left.cost), left.delta, left.cost),
        free=Amount(priced.epsilon_for(free.cost), free.delta, free.cost),
    )


def too_expensive(asked: Mapping[str, str], charge: Charge, account: BudgetView, analyst: str | None) -> BudgetExceeded:
    """The refusal of a price that does not fit into an account, with the largest one that would."""
    figures = account.free.figures(up=False, digits=6)
    left = {name: text for name, text in figures.items() if charge.delta or name != "delta"}
    shown = ", ".join(f"{name} at most {text}" for name, text in left.items())
    reserved = "" if account.free == account.left else " beyond what is reserved for analysts"
    whose, named = ("people", "the people's budget") if analyst is None else ("analyst", "this analyst's own cap")
    return BudgetExceeded(
        f"{_for_keys(asked, charge)}does not fit into what is left of {named}{reserved}: {shown}. {_NOTHING}",
        asked=asked,
        left=left,
        whose=whose,
    )


def taken_by_others(asked: Mapping[str, str], charge: Charge) -> BudgetExceeded:
    """The refusal of a price that fits an analyst's cap where caps exceed the budget: no figure of others' spending."""
    return BudgetExceeded(f"{_for_keys(asked, charge)}does not fit. {_NOTHING}", asked=asked)


def _for_keys(asked: Mapping[str, str], charge: Charge) -> str:
    """The delta that keys from the data take, where none was stated."""
    unstated = charge.delta and "delta" not in asked
    return f"with delta {float(charge.delta):.3g} for keys from the data " if unstated else ""


def _parts(balance: Balance) -> tuple[Charge, Charge, Charge, Charge]:
    return balance.cap, balance.spent, balance.left, balance.free


def _plain(currency: Currency, part: Charge) -> Amount:
    return Amount(part.cost, None if currency.kind == "pure" else part.delta, None)
