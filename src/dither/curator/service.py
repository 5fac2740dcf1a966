"""One door: what anybody may ask of a curator's folder, each time with who asks it.

Python, the command line and every server are thin over it. A stranger is refused before anything is read; an analyst is
somebody because the curator made a cap, and sees the own account, the own history and the own tables alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from dither.curator.accounts import Accounts
from dither.curator.principal import ROLES, Principal
from dither.curator.request_options import Stated, StatedRequest, check_text, checked, confidence_of, with_clause
from dither.errors import PolicyError, ProfileMissing, Stranger, UnsupportedQuery
from dither.policy.catalog import PublicTable, Table
from dither.policy.tables import Tables

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.answer.shape import OutputColumn
    from dither.curator.budgets import BudgetView
    from dither.curator.officer.question import WholeQuestion
    from dither.curator.officer.statement import Line
    from dither.curator.over.over_walk import OverWalk
    from dither.curator.walk import Walk
    from dither.ledger import Entry, Ledger, Reservation
    from dither.sql.planner.profile import Profile
    from dither.sql.pricing.explanation import Explanation


class Service:
    """Asks, explains and shows, for one principal at a time."""

    def __init__(self, ledger: Ledger, walk: Walk) -> None:
        self._ledger, self._walk = ledger, walk
        self._accounts = Accounts(ledger)

    def ask(self, principal: Principal, text: str, /, **stated: Unpack[StatedRequest]) -> Answer:
        """The answer to a question, paid for before any data are read."""
        account, asked = self._account(principal), with_clause(text, checked(stated, StatedRequest))
        try:
            return self._walk.ask(account, text, **asked)
        except UnsupportedQuery as refused:  # reading comes first, so nothing was charged
            return self._over(refused).ask(account, text, **asked)

    def explain(self, principal: Principal, text: str, /, **stated: Unpack[Stated]) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        account, asked = self._account(principal), with_clause(text, checked(stated, Stated))
        try:
            return self._walk.explain(account, text, **asked)
        except UnsupportedQuery as refused:
            return self._over(refused).explain(account, text, **asked)

    def describe(self, principal: Principal, text: str, /, **stated: Unpack[Stated]) -> tuple[OutputColumn, ...]:
        """The columns that the answer would have, without reading data or spending anything."""
        from dither.answer.shape import shape_of
        from dither.curator.over.answer_tables import empty_answer

        account, asked = self._account(principal), checked(stated, Stated)
        try:
            level = confidence_of(asked)
            named = {name: value for name, value in asked.items() if name not in ("confidence", "coverage")}
            return shape_of(empty_answer(self._walk.price(text, account, confidence=level, **named), level))
        except UnsupportedQuery as refused:
            return self._over(refused).describe(account, text, **asked)

    def _over(self, refused: UnsupportedQuery) -> OverWalk:
        """For a text that is no question by itself: it may compute with the answers to some."""
        from dither.curator.over.over_walk import OverWalk

        return OverWalk(self._walk, refused)

    def charged(self, principal: Principal, request: str) -> bool:
        """Whether the principal was charged under a request id, whatever became of it."""
        analyst = self._account(principal)
        people = self._accounts.people if analyst is None else self._accounts.people_of(analyst)
        return any(self._ledger.requested(one, analyst, request) is not None for one in people)

    def pending(self) -> list[Reservation]:
        """What was charged and has no answer yet, for a server to take up after a crash."""
        return self._ledger.pending()

    def price_of(self, reservation: Reservation) -> dict[str, Any]:
        """What was charged, as whoever asks states it."""
        from dither.ledger.checks import CURRENCIES

        charge, name = reservation.charge, CURRENCIES[self._ledger.kind(reservation.people)]
        return {name: charge.cost, **({"delta": charge.delta} if charge.delta else {})}

    def budget(self, principal: Principal, people: str | None = None) -> BudgetView:
        """What the principal was granted, has spent and has left; of an analyst, the own cap."""
        analyst = self._account(principal)
        return self._accounts.view(people or self._accounts.only_people(analyst), analyst)

    def history(self, principal: Principal, *, after: int = 0) -> Iterator[Entry]:
        """The entries of the ledger in order, after that number; of an analyst, the own ones, numbered by themselves.

        Units name accounts by their place in the ledger, which counts what others did before, so analysts do not see
        them; nor the random number that tells copies of a ledger apart.
        """
        analyst = None if principal.role in ROLES else self._account(principal)
        if analyst is None:
            return self._ledger.entries(after=after)
        hidden = ("units", "nonce")
        return (
            replace(entry, sequence=number, body={name: v for name, v in entry.body.items() if name not in hidden})
            for number, entry in self._ledger.own(analyst, after=after)
        )

    def statement(self, principal: Principal, *, after: int = 0, most: int | None = None) -> list[Line]:
        """One line for each question of the ledger, after that number; of an analyst, for each of the own."""
        return [line for line, _ in islice(self._lines(principal, after), most)]

    def question(self, principal: Principal, number: int) -> WholeQuestion:
        """One of these lines, with the answer that was released."""
        from dither.curator.officer.question import whole

        for line, place in islice(self._lines(principal, max(number - 1, 0)), 1):
            if line.number == number:
                return whole(self._walk, line, self._ledger.reservation(place))
        raise PolicyError(f"there is no question {number}; the statement lists those there are.")

    def _lines(self, principal: Principal, after: int = 0) -> Iterator[tuple[Line, int]]:
        from dither.curator.officer.statement import lines_of

        analyst = None if principal.role in ROLES else self._account(principal)
        return lines_of(self._ledger, own=analyst, after=after)

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

    def verify(self, principal: Principal) -> int:
        """Check the whole ledger against its key and its anchor; the number of entries."""
        if principal.role not in ROLES:
            raise Stranger
        return self._ledger.verify()

    def _account(self, principal: Principal) -> str | None:
        """Under what name the principal pays: an analyst's own, None for the curator; a stranger is refused."""
        known = principal.role == "curator" or bool(principal.name and self._accounts.people_of(principal.name))
        if not known:
            raise Stranger
        return principal.name
