"""How accounts stand beside what they have spent: who may sign, who is frozen, who is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.errors import PeopleFrozen
from dither.ledger.accounts import Name
from dither.ledger.officer.refusals import AccountClosed, AnalystFrozen

if TYPE_CHECKING:
    from dither.ledger.book import Book


@dataclass(frozen=True)
class Standing:
    """What follows from an officer's entries; people who are frozen are in the book itself, with their incidents."""

    officer: str | None = None  # the public key that grants are held to, in hexadecimal digits
    orders: int = 0  # how many orders were signed; the next one has this number
    frozen: frozenset[Name] = frozenset()  # analysts
    closed: frozenset[Name] = frozenset()  # people under None, and analysts
    blind: bool = False  # whether accounts may be lost of which nothing at all is known

    @property
    def document(self) -> list[object]:
        """As entries commit to it."""
        names = [sorted([people, analyst or ""] for people, analyst in names) for names in (self.frozen, self.closed)]
        return [self.officer, self.orders, *names, self.blind]

    def is_closed(self, people: str, analyst: str | None) -> bool:
        """Whether an account is closed for good, or all its people are."""
        return not self.closed.isdisjoint({(people, None), (people, analyst)})


NEW = Standing()


def check_standing(book: Book, people: str, analyst: str | None) -> None:
    """Refuse to charge whoever is closed or frozen."""
    if book.standing.is_closed(people, analyst):
        raise AccountClosed(people, None if (people, None) in book.standing.closed else analyst)
    if people in book.frozen:
        raise PeopleFrozen(people)
    if (people, analyst) in book.standing.frozen:
        raise AnalystFrozen(people, str(analyst))
