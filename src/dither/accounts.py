"""The accounts of the ledger as budgets: the people's own, and the caps that analysts have of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.accounting.currency import Currency
from dither.budgets import Budget, BudgetView, budget_from, check_usable, terms_of, view
from dither.errors import PolicyError
from dither.sql.names import meant

if TYPE_CHECKING:
    from dither.ledger import Ledger


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
        """What an account by itself was granted, has spent and has left."""
        return view(self.budget(people, analyst), self.ledger.balance(people, analyst), self.budget(people))

    def people_of(self, analyst: str) -> list[str]:
        """The people about whom an analyst may ask: the curator gave it a cap there."""
        return [people for people, whose in self.ledger.accounts() if whose == analyst]

    @property
    def people(self) -> list[str]:
        """All people who have a budget."""
        return [people for people, analyst in self.ledger.accounts() if analyst is None]

    def known(self, people: str) -> None:
        """Refuse people who have no budget."""
        if people not in (known := self.people):
            hint = meant(people, known) or "Open their budget first."
            raise PolicyError(f"there are no people {people!r}; known are: {', '.join(known) or 'none'}. {hint}")

    def only_people(self, analyst: str | None = None) -> str:
        """The one people there are, or about whom an analyst may ask."""
        if len(known := self.people if analyst is None else self.people_of(analyst)) != 1:
            raise PolicyError(
                f"say whose budget the cap belongs to with people=; known are: {', '.join(known) or 'none'}."
            )
        return known[0]
