"""What happened, in order: accounts, events of the curator, every entry, and the walk that proves them all."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from dither.errors import PolicyError
from dither.ledger import index
from dither.ledger.chain import Link
from dither.ledger.checks import check_texts
from dither.ledger.journal import Journal
from dither.ledger.kinds import KINDS, VERSION
from dither.ledger.page import links_after
from dither.ledger.storage.protocol import Place
from dither.ledger.values import Entry
from dither.ledger.verify import verify

_PAGE_OF_ENTRIES = 1000
_PAGE_OF_OWN = 100


@dataclass
class Places:
    """Where the entries about each analyst stand, as far as was looked."""

    looked: int = 0
    found: dict[str, array[int]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


class History:
    """The entries of a ledger."""

    _folder: Place
    _journal: Journal
    _key: bytes
    _places: Places

    def accounts(self) -> list[tuple[str, str | None]]:
        """Every (people, analyst) with a budget, in the order they were opened; the people's own have analyst None."""
        with self._journal.reading() as page:
            return list(page.book.accounts)

    def people_of(self, analyst: str | None) -> list[str]:
        """The people with whom this very analyst has an account; all people for None."""
        with self._journal.reading() as page:
            return list(page.book.accounts.people_of(analyst))

    def record(self, kind: str, body: Mapping[str, str]) -> None:
        """Append an event of the curator, such as "register" or "refresh"; it touches no budget."""
        if kind in KINDS[VERSION] or not kind.isidentifier() or not kind.isascii():
            raise PolicyError(
                f"{kind!r} cannot name an event; use a word such as 'register' that the ledger does not use."
            )
        check_texts(body, "event")
        with self._journal.writing() as page:
            page.append("event", {"event": kind, "body": dict(body)})

    def events(self, kinds: Collection[str], *, after: int = 0, most: int | None = None) -> list[Entry]:
        """Events of these kinds after that entry, the newest first, found without a walk over all entries."""
        with self._journal.reading() as page:
            found = map(index.entry_of, index.events(page, after))
            return list(islice((entry for entry in found if entry.kind in kinds), most))

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """Every entry there is now, in order, each proven to follow the one before; events under their own kind.

        With `after`, those that follow that one alone.
        """
        with self._journal.reading() as page:
            goal = page.head.sequence
            query = "SELECT max(sequence) FROM entries WHERE sequence <= ?"
            (known,) = page.connection.execute(query, (min(after, goal),)).fetchone()
            last: Link | None = None if known is None else page.entry(known)
        while last is None or last.sequence < goal:
            with self._journal.reading() as page:
                links = list(links_after(page.connection, self._key, last, _PAGE_OF_ENTRIES))
            yield from (index.entry_of(link) for link in links if link.sequence <= goal)
            last = links[-1]

    def own(self, analyst: str, *, after: int = 0) -> Iterator[tuple[int, Entry]]:
        """The entries about an analyst, numbered by themselves; with `after`, those beyond that number alone.

        How long that takes does not depend on how many others there are: of those, only the ones that came since
        somebody asked last are looked at.
        """
        with self._places.lock:
            for entry in self.entries(after=self._places.looked):
                if isinstance(name := entry.body.get("analyst"), str):
                    self._places.found.setdefault(name, array("q")).append(entry.sequence)
                self._places.looked = entry.sequence
            places = self._places.found.get(analyst, array("q"))[(after := max(after, 0)) :]
        for start in range(0, len(places), _PAGE_OF_OWN):
            with self._journal.reading() as page:
                links = [page.entry(place) for place in places[start : start + _PAGE_OF_OWN]]
            yield from enumerate(map(index.entry_of, links), after + start + 1)

    def ends(self, reservations: Sequence[int]) -> list[Entry | None]:
        """The entries that settled these reservations, as answered or failed; None for those that are open."""
        with self._journal.reading() as page:
            found = [index.end_of(page, number) for number in reservations]
        return [None if link is None else index.entry_of(link) for link in found]

    def verify(self) -> int:
        """Walk the whole ledger and prove every figure and answer in it; the number of entries, or LedgerCorrupt.

        Others may charge and settle meanwhile: no lock is held for longer than it takes to read a page of entries.
        """
        mark = self._journal.anchor_mark()
        with self._journal.reading() as page:
            self._journal.hold_to(page, mark)
        self._journal.check_file()
        return verify(self._journal.reading, self._folder)
