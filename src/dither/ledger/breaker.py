"""Incidents, and what follows from them: people whose questions are frozen until the curator thaws them.

An incident is a charged question whose end may have told one bit about one person: its statement was stopped, or was
late, or it failed in any other way once data were read. At the limit that is in force, the incident and the freeze are
one transaction, so that no crash parts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dither.errors import PolicyError
from dither.ledger import index
from dither.ledger.book import REASONS
from dither.ledger.checks import account_of
from dither.ledger.journal import Journal
from dither.ledger.names import canonical_name
from dither.ledger.officer.desk import check_reason
from dither.ledger.officer.refusals import AccountClosed
from dither.ledger.page import Page


@dataclass(frozen=True)
class Breaker:
    """Counts incidents, freezes and thaws."""

    journal: Journal

    def incident(self, reservation_id: int, reason: str, *, most: int) -> None:
        """Record an incident of a charged question, once, and freeze its people if that makes `most` since the thaw.

        A question that was stopped or failed is settled as failed in the same transaction; the charge stands.
        """
        if reason not in REASONS:
            raise PolicyError(f"the reason of an incident is one of: {', '.join(REASONS)}; got {reason!r}.")
        with self.journal.writing() as page:
            if index.is_open(page, reservation_id) and reason != "late":
                index.settle(page, reservation_id, page.append("fail", {"reservation": reservation_id}))
            people = page.entry(reservation_id).body["people"]
            counted = page.book.incidents.get(people, frozenset())
            if reservation_id not in counted:
                page.append("incident", {"people": people, "reservation": reservation_id, "reason": reason})
                if len(counted) + 1 >= most:
                    _freeze(page, people)

    def freeze(self, people: str, *, reason: str | None = None, time: int | None = None) -> None:
        """Answer nothing new about these people from now on."""
        people, why = canonical_name(people, "people"), _why(reason, time)
        with self.journal.writing() as page:
            account_of(page.book, people, None)
            _freeze(page, people, why)

    def thaw(self, people: str, *, reason: str | None = None, time: int | None = None) -> None:
        """Answer again, and count incidents from none."""
        people, why = canonical_name(people, "people"), _why(reason, time)
        with self.journal.writing() as page:
            account_of(page.book, people, None)
            if page.book.standing.is_closed(people, None):
                raise AccountClosed(people, None)
            if people in page.book.frozen or people in page.book.incidents:
                page.append("thaw", {"people": people, **why})

    def incidents(self) -> Mapping[str, int]:
        """How many there were of each people since they were last thawed."""
        with self.journal.reading() as page:
            return {people: len(counted) for people, counted in page.book.incidents.items()}

    def frozen(self) -> frozenset[str]:
        """The people about whom nothing new is answered."""
        with self.journal.reading() as page:
            return page.book.frozen


def _freeze(page: Page, people: str, why: Mapping[str, str | int] = MappingProxyType({})) -> None:
    if people not in page.book.frozen:
        counted = page.book.incidents.get(people, frozenset())
        page.append("freeze", {"people": people, "incidents": len(counted), **why})


def _why(reason: str | None, time: int | None) -> dict[str, str | int]:
    """What somebody's decision records; the breaker's own freeze has its incidents for a reason."""
    if reason is not None:
        check_reason(reason)
    return {name: value for name, value in (("reason", reason), ("time", time)) if value is not None}
