"""What an officer decides about accounts, in the terms of budgets: each decision is one entry of the ledger.

Freezing, lowering and closing hold at once. A budget is raised, or a new period's granted, only by an order that bears
the signature of the officer's own key, which is kept outside the folder.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.accounting import PureDP
from dither.accounting.currency.currency import Currency
from dither.curator.budgets import Budget, budget_from, check_usable, same_kind, terms_of
from dither.errors import DitherError, PolicyError
from dither.exact.parameters import Number
from dither.ledger import Charge
from dither.ledger.officer.refusals import SignatureRefused

if TYPE_CHECKING:
    from dither.curator.accounts import Accounts
    from dither.ledger import Ledger
    from dither.ledger.officer.orders import Order


@dataclass(frozen=True)
class Officer:
    """Changes the accounts of one curator's folder."""

    ledger: Ledger
    accounts: Accounts

    # -- at once

    def freeze(self, people: str, analyst: str | None = None, *, reason: str) -> None:
        """Charge nothing more about these people, or to one analyst about them, until they are thawed."""
        if analyst is None:
            self.ledger.breaker.freeze(people, reason=reason, time=_now())
        else:
            self.ledger.desk.freeze(people, analyst, reason=reason, time=_now())

    def thaw(self, people: str, analyst: str | None = None, *, reason: str) -> None:
        """Answer again; of people, incidents are counted from none."""
        if analyst is None:
            self.ledger.breaker.thaw(people, reason=reason, time=_now())
        else:
            self.ledger.desk.thaw(people, analyst, reason=reason, time=_now())

    def close(self, people: str, analyst: str | None = None, *, reason: str) -> None:
        """Charge an account no more, for good; what an analyst had left is free for the people's budget again."""
        self.ledger.desk.close(people, analyst, reason=reason, time=_now())

    def lower(self, people: str, analyst: str | None = None, *, budget: Budget, reason: str) -> None:
        """Give an account less from now on: never less than is spent, or reserved for analysts."""
        self.ledger.desk.lower(people, analyst, reason=reason, time=_now(), **self._stated(people, analyst, budget))

    # -- by signature

    @property
    def key(self) -> str | None:
        """The public key that grants are held to, in hexadecimal digits; None if no officer is enrolled."""
        return self.ledger.desk.standing().officer

    def enrol(self, public: str, *, reason: str = "the officer's key") -> None:
        """Hold grants to this public key from now on; there is none yet."""
        self.ledger.desk.enrol(public, reason=reason, time=_now())

    def replace_key(self, public: str, *, reason: str, key: Path | str) -> None:
        """Hold grants to another officer's key from now on; signed with the key of the one before."""
        order = self.ledger.desk.draft_key(public, reason=reason)
        self.carry_out(order, self.ledger.desk.signed(order, key))

    def draft(self, people: str, analyst: str | None = None, *, budget: Budget, reason: str) -> Order:
        """The order that gives an account this budget in all, for an officer to sign, perhaps on another machine."""
        return self.ledger.desk.draft(people, analyst, reason=reason, **self._stated(people, analyst, budget))

    def carry_out(self, order: Order, signature: str) -> None:
        """Do what was signed, once."""
        check_order(order)
        self.ledger.desk.carry_out(order, signature, time=_now())

    def grant(
        self, people: str, analyst: str | None = None, *, budget: Budget, reason: str, key: Path | str | None
    ) -> None:
        """Raise what an account has to this budget in all: drafted, signed with the key in that file, and done."""
        order = self.draft(people, analyst, budget=budget, reason=reason)
        if key is None:
            raise SignatureRefused(
                f"{analyst or people} would have more than before, and that needs the officer's signature: give the "
                "file of the officer's key."
            )
        self.carry_out(order, self.ledger.desk.signed(order, key))

    # -- copies

    def backup(self, to: Path | str) -> int:
        """Copy all of the folder but its anchor into a new one; the number of entries that are proven there."""
        from dither.curator.officer.copies import backup

        return backup(self.ledger.desk.folder, Path(to))

    # -- either

    def raises(self, people: str, analyst: str | None, budget: Budget) -> bool:
        """Whether a budget is more than an account has, in epsilon, rho or delta."""
        here, there = Currency.of(self.accounts.budget(people, analyst)), Currency.of(budget)
        return there.cap_cost > here.cap_cost or there.cap_delta > here.cap_delta

    def change(
        self, people: str, analyst: str | None = None, *, budget: Budget, reason: str, key: Path | str | None = None
    ) -> None:
        """Lower or raise an account to this budget."""
        if self.raises(people, analyst, budget):
            self.grant(people, analyst, budget=budget, reason=reason, key=key)
        else:
            self.lower(people, analyst, budget=budget, reason=reason)

    def _stated(self, people: str, analyst: str | None, budget: Budget) -> dict[str, Any]:
        """A budget as the ledger has it, if it is of the kind that the account has."""
        known, oversubscribed = self.accounts.budget(people, analyst), self.ledger.terms(people, analyst)
        if not same_kind(known, budget):
            raise PolicyError("a budget keeps its kind: pure stays pure, and an approximate one its composition.")
        if analyst is not None:
            check_usable(self.accounts.budget(people), budget)
        currency = Currency.of(budget)
        terms = terms_of(budget, oversubscribe=oversubscribed.get("oversubscribe") == "true")
        return {"cap": Charge(currency.cap_cost, currency.cap_delta), "terms": terms}


def check_order(order: Order) -> None:
    """Refuse a grant whose figures, which the ledger goes by, are more than the budget that it names."""
    if order.kind != "grant":
        return
    try:
        named = Currency.of(budget_from(order.body["terms"]))
        stated = Charge(Fraction(order.body["cost"]), Fraction(order.body["delta"]))
    except (LookupError, TypeError, ValueError, ArithmeticError, DitherError):
        raise SignatureRefused("this order names no budget; draft it anew.") from None
    if stated.cost > named.cap_cost or stated.delta > named.cap_delta:
        raise SignatureRefused("this order would grant more than the budget that it names; draft it anew.")


def changed(budget: Budget, epsilon: Number, delta: Number | None = None) -> Budget:
    """A budget of the same kind with another epsilon, and another delta if one is stated."""
    from dither.accounting import ApproxDP

    if isinstance(budget, PureDP):
        if delta is not None:
            raise PolicyError("a pure budget has epsilon alone; leave delta out.")
        return PureDP(epsilon)
    return ApproxDP(epsilon, budget.delta if delta is None else delta, composition=budget.composition)


def _now() -> int:
    """For who reads the ledger; nothing is decided by it."""
    return max(int(time.time()), 0)
