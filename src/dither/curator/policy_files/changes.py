"""What a policy file would do to accounts that are there: raise, lower, freeze, thaw and close them, in a safe order.

Nothing that a file does not say is changed: an account that it does not name stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dither.curator.budgets import CLOSED, Budget, budget_from, decimal_text, terms_of
from dither.curator.officer.decisions import Officer, changed
from dither.curator.policy_files.reading import Plan, PlannedAccount

if TYPE_CHECKING:
    from dither.curator.policy_files.application import Accounts

# First what takes, so that there is room for what gives; people are raised before analysts, and lowered after them.
ORDER = ("freeze", "close", "lower", "raise", "thaw")
_WORDS = {"freeze": "frozen", "close": "closed for good", "thaw": "thawed", "raise": "raised", "lower": "lowered"}


@dataclass(frozen=True)
class Change:
    """One entry that applying a file would add."""

    kind: str
    people: str
    analyst: str | None
    budget: Budget | None = None
    before: Budget | None = None

    def __str__(self) -> str:
        whose = self.people if self.analyst is None else f"{self.analyst} (of {self.people})"
        if self.budget is None or self.before is None:
            return f"{whose}: {_WORDS[self.kind]}"
        signed = ", by the officer's signature" if self.kind == "raise" else ""
        return f"{whose}: {_WORDS[self.kind]} from {_shown(self.before)} to {_shown(self.budget)}{signed}"

    def make(self, officer: Officer, reason: str, key: Path | str | None) -> None:
        """Add the entry."""
        if self.budget is not None:
            officer.change(self.people, self.analyst, budget=self.budget, reason=reason, key=key)
        elif self.kind == "freeze":
            officer.freeze(self.people, self.analyst, reason=reason)
        elif self.kind == "thaw":
            officer.thaw(self.people, self.analyst, reason=reason)
        else:
            officer.close(self.people, self.analyst, reason=reason)


def changes(plan: Plan, officer: Officer, granted: Accounts) -> tuple[Change, ...]:
    """Every change to accounts that are there, in the order in which they are made."""
    found: list[Change] = []
    for account in plan.accounts:
        terms = granted.get((account.people, account.analyst))
        if terms is None:
            if account.frozen or account.closed:
                account.place.wrong("is not there yet: it can be frozen or closed once it is.")
            continue
        with account.place.naming():
            found += _of(account, officer, terms)

    def place(change: Change) -> tuple[int, bool]:
        last = change.analyst is None if change.kind in ("lower", "close") else change.analyst is not None
        return ORDER.index(change.kind), last

    return tuple(sorted(found, key=place))


def _of(account: PlannedAccount, officer: Officer, terms: Mapping[str, str]) -> list[Change]:
    whose, state = (account.people, account.analyst), officer.accounts.state(account.people, account.analyst)
    if state == CLOSED:
        if account.closed is False:
            account.place.wrong("is closed for good.")
        return []
    found = []
    if account.closed:
        return [Change("close", *whose)]
    before = budget_from(terms)
    stated = account.place.value
    budget = changed(
        before, account.budget.epsilon, getattr(account.budget, "delta", None) if "delta" in stated else None
    )
    if terms_of(budget) != terms_of(before):
        found.append(Change("raise" if officer.raises(*whose, budget) else "lower", *whose, budget, before))
    own = officer.ledger.desk.standing().frozen if account.analyst is not None else officer.ledger.breaker.frozen()
    is_frozen = whose in own if account.analyst is not None else account.people in own
    if account.frozen is not None and account.frozen != is_frozen:
        found.append(Change("freeze" if account.frozen else "thaw", *whose))
    return found


def _shown(budget: Budget) -> str:
    delta = getattr(budget, "delta", None)
    return f"epsilon {decimal_text(budget.epsilon, up=False)}" + (
        f", delta {decimal_text(delta, up=False)}" if delta else ""
    )
