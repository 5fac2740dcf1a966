"""What happened, in order: events of the curator, every entry, and the walk that proves them all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

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


class History:
    """The entries of a ledger."""

    _folder: Place
    _journal: Journal
    _key: bytes

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

    def verify(self) -> int:
        """Walk the whole ledger and prove every figure and answer in it; the number of entries, or LedgerCorrupt.

        Others may charge and settle meanwhile: no lock is held for longer than it takes to read a page of entries.
        """
        mark = self._journal.anchor_mark()
        with self._journal.reading() as page:
            self._journal.hold_to(page, mark)
        self._journal.check_file()
        return verify(self._journal.reading, self._folder)
