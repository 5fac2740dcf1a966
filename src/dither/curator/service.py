"""One door: what anybody may ask of a curator's folder, each time with who asks it.

Python, the command line and every server are thin over it. A stranger is refused before anything is read; an analyst is
somebody because the curator made a cap, and sees the own account, the own history and the own tables alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from dither.curator.accounts import Accounts
from dither.curator.principal import Principal
from dither.curator.stated import Stated, StatedRequest, check_text, checked
from dither.errors import ProfileMissing, Stranger
from dither.policy.catalog import PublicTable, Table
from dither.policy.tables import Tables

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.curator.budgets import BudgetView
    from dither.curator.walk import Walk
    from dither.ledger import Entry, Ledger
    from dither.sql.planner.profile import Profile
    from dither.sql.pricing.explain import Explanation


class Service:
    """Asks, explains and shows, for one principal at a time."""

    def __init__(self, ledger: Ledger, walk: Walk) -> None:
        self._ledger, self._walk = ledger, walk
        self._accounts = Accounts(ledger)

    def ask(self, principal: Principal, text: str, /, **stated: Unpack[StatedRequest]) -> Answer:
        """The answer to a question, paid for before any data are read."""
        return self._walk.ask(self._account(principal), text, **checked(stated, StatedRequest))

    def explain(self, principal: Principal, text: str, /, **stated: Unpack[Stated]) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._walk.explain(self._account(principal), text, **checked(stated, Stated))

    def budget(self, principal: Principal, people: str | None = None) -> BudgetView:
        """What the principal was granted, has spent and has left; of an analyst, the own cap."""
        analyst = self._account(principal)
        return self._accounts.view(people or self._accounts.only_people(analyst), analyst)

    def history(self, principal: Principal) -> Iterator[Entry]:
        """The entries of the ledger in order; of an analyst, the own ones, numbered by themselves.

        Units name accounts by their place in the ledger, which counts what others did before, so analysts do not see
        them; nor the random number that tells copies of a ledger apart.
        """
        analyst = self._account(principal)
        if analyst is None:
            return self._ledger.entries()
        own = (entry for entry in self._ledger.entries() if entry.body.get("analyst") == analyst)
        hidden = ("units", "nonce")
        return (
            replace(entry, sequence=number, body={name: v for name, v in entry.body.items() if name not in hidden})
            for number, entry in enumerate(own, 1)
        )

    def tables(self, principal: Principal) -> list[Table | PublicTable]:
        """The declarations of all tables about which the principal may ask."""
        known = self._walk.catalogs.of(self._account(principal))
        return Tables([*known.tables.values(), *known.public.values()])

    def profile(self, principal: Principal, table: str) -> Profile:
        """The profile that was made of a table's current snapshot: noisy and paid for, so all who ask may see it."""
        from dither.curator.recall import profile_of

        own = self._walk.catalogs.of(self._account(principal))
        check_text(table, "table")
        known = own.table(table)
        found = profile_of(self._ledger, known)
        if found is None:
            raise ProfileMissing(known.name)
        return found

    def _account(self, principal: Principal) -> str | None:
        """Under what name the principal pays: an analyst's own, None for the curator; a stranger is refused."""
        if principal.role == "analyst" and not self._accounts.people_of(str(principal.name)):
            raise Stranger
        return principal.name
