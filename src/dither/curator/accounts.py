"""The accounts of the ledger as budgets: the people's own, and the caps that analysts have of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dither.accounting.currency.currency import Currency
from dither.curator.budgets import (
    CLOSED,
    FROZEN,
    Budget,
    BudgetView,
    budget_from,
    check_usable,
    decimal_text,
    taken_by_others,
    terms_of,
    too_expensive,
    view,
)
from dither.errors import AnalystMissing, BudgetExceeded, PolicyError
from dither.escape import visible
from dither.policy.names import meant

if TYPE_CHECKING:
    from dither.ledger import Charge, Entry, Ledger


@dataclass(frozen=True)
class Accounts:
    """Opens accounts and reads what they were granted, have spent and have left."""

    ledger: Ledger

    def open(self, people: str, analyst: str | None, budget: Budget, *, oversubscribe: bool = False) -> None:
        """Grant a budget, for good; refuses other terms than an account has already."""
        from dither.ledger import Charge
        from dither.ledger.checks import canonical_names

        if analyst is not None and canonical_names(people, analyst) not in self.ledger.accounts():
            check_usable(self.budget(people), budget)
        terms, currency = terms_of(budget, oversubscribe=oversubscribe), Currency.of(budget)
        cap = Charge(currency.cap_cost, currency.cap_delta)
        self.ledger.open_account(people, analyst, kind=currency.kind, cap=cap, terms=terms)

    def budget(self, people: str, analyst: str | None = None) -> Budget:
        """What was granted."""
        return budget_from(self.ledger.terms(people, analyst))

    def view(self, people: str, analyst: str | None = None) -> BudgetView:
        """What an account by itself was granted, has spent and has left, and how it stands."""
        seen = view(self.budget(people, analyst), self.ledger.balance(people, analyst), self.budget(people))
        return replace(seen, state=self.state(people, analyst), changes=tuple(self._changes(people, analyst)))

    def state(self, people: str, analyst: str | None = None) -> str:
        """Whether an account can be charged: "open", frozen or closed; of an analyst, also because its people are."""
        from dither.ledger.checks import canonical_names

        who, standing = canonical_names(people, analyst), self.ledger.desk.standing()
        if standing.is_closed(*who):
            return CLOSED
        return FROZEN if who[0] in self.ledger.breaker.frozen() or who in standing.frozen else "open"

    def _changes(self, people: str, analyst: str | None) -> Iterator[str]:
        """Every grant and lowering of an account, the newest first, and what it had at first."""
        from dither.ledger.checks import canonical_names

        who = canonical_names(people, analyst)
        made = [entry.body for entry in self.ledger.desk.decisions("grant", "lower") if _whose(entry) == who]
        for body in reversed(made):
            how = "signed" if "signature" in body else "lowered"
            yield f"{_total(body['terms'])} in all{_since(body.get('time'))} ({how}): {visible(str(body['reason']))}"
        if made:
            yield f"{_total(self.ledger.desk.opening(people, analyst))} at first"

    def opening(self, people: str, budget: Budget | None) -> Callable[[], None] | None:
        """What opens the people of a table once it is loaded, refused now if it cannot be; None if they are there."""
        if budget is None:
            self.known(people)
            return None
        terms_of(budget)
        Currency.of(budget)
        if (people, None) in self.ledger.accounts():
            self.open(people, None, budget)  # refuses other terms before a long load
        return partial(self.open, people, None, budget)

    def granted(self) -> dict[tuple[str, str | None], Mapping[str, str]]:
        """What every account has in all, in the terms of its budget."""
        return {account: self.ledger.terms(*account) for account in self.ledger.accounts()}

    def people_of(self, analyst: str) -> list[str]:
        """The people about whom an analyst may ask: the curator gave it a cap there."""
        return self.ledger.people_of(analyst)

    @property
    def people(self) -> list[str]:
        """All people who have a budget."""
        return self.ledger.people_of(None)

    def known(self, people: str) -> None:
        """Refuse people who have no budget."""
        if people not in (known := self.people):
            hint = meant(people, known) or "Open their budget first."
            raise PolicyError(f"there are no people {people!r}; known are: {', '.join(known) or 'none'}. {hint}")

    def check_analyst(self, name: str) -> None:
        """Refuse a name that the curator gave no cap; this is said to the curator, never to a stranger."""
        from dither.ledger.names import canonical_name

        known_as, accounts = canonical_name(name, "analyst"), self.ledger.accounts()
        known = list(dict.fromkeys(analyst for _, analyst in accounts if analyst is not None))
        if known_as not in known:
            raise AnalystMissing(known_as, known, self.people)

    def only_people(self, analyst: str | None = None) -> str:
        """The one people there are, or about whom an analyst may ask."""
        if len(known := self.people if analyst is None else self.people_of(analyst)) != 1:
            raise PolicyError(f"say which people are meant with people=; known are: {', '.join(known) or 'none'}.")
        return known[0]

    def refusal(self, people: str, analyst: str | None, asked: Mapping[str, str], charge: Charge) -> BudgetExceeded:
        """Of a price that does not fit, in the terms of whoever asks: an analyst hears of the own cap alone."""
        if analyst is not None and self.ledger.fits(people, analyst, charge):
            return taken_by_others(asked, charge)
        return too_expensive(asked, charge, self.view(people, analyst), analyst)


def _whose(entry: Entry) -> tuple[Any, Any]:
    return entry.body["people"], entry.body["analyst"]


def _total(terms: Any) -> str:
    """The epsilon, and the delta if there is one, that was granted."""
    stated = ((name, Fraction(terms[name])) for name in ("epsilon", "delta") if name in terms)
    return ", ".join(f"{name} {decimal_text(value, up=False)}" for name, value in stated)


def _since(moment: Any) -> str:
    return "" if moment is None else f" since {datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
