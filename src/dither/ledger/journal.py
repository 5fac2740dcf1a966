"""The journal: transactions over the chain. Everything read in one was followed, entry by entry, from a trusted place.

On opening, the newest entry's seal proves its commitment to the book, and the tables must match it. From then on each
transaction follows the entries that other processes added since. So an edited table never gives budget, and the price
of safety is a few microseconds, not a walk over the whole ledger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.anchor import Anchor, Mark
from dither.ledger.book import Account, Book
from dither.ledger.chain import NO_SEAL, VERSION, Link, authentic, canonical_json, same, seal
from dither.ledger.files import Folder
from dither.ledger.schema import LAYOUT, OF_THE_BREAKER
from dither.ledger.store import Store, add_tables, check_tables, has_tables, is_older, make_tables
from dither.ledger.units import Units

COLUMNS = "sequence, version, kind, body, state, mac"
INCIDENTS = f"SELECT sequence FROM entries WHERE {OF_THE_BREAKER} ORDER BY sequence"


@dataclass
class Page:
    """One transaction's view: the newest entry, and the book as of that entry."""

    connection: sqlite3.Connection
    key: bytes
    head: Link
    book: Book

    def entry(self, sequence: int) -> Link:
        """The authentic entry of that sequence; LedgerCorrupt if there is none."""
        if not (isinstance(sequence, int) and sequence >= 1):  # a pointer out of an edited table
            raise LedgerCorrupt("the ledger points to an entry that cannot exist.")
        rows = self.connection.execute(
            f"SELECT {COLUMNS} FROM entries WHERE sequence IN (?, ?) ORDER BY sequence DESC", (sequence, sequence - 1)
        ).fetchall()
        row = rows[0] if rows and rows[0][0] == sequence else None
        return authentic(self.key, rows[1][-1] if len(rows) == 2 else NO_SEAL if sequence == 1 else None, row)

    def append(self, kind: str, body: Mapping[str, object]) -> Link:
        """Write the next entry, committing to the book that follows from it. Durable when the transaction ends."""
        draft = Link(self.head.sequence + 1, VERSION, kind, canonical_json(body), b"", b"")
        self.book.apply(draft)
        state = self.book.commitment(self.key)
        self.head = seal(self.key, self.head.mac, draft.sequence, kind, draft.text, state)
        self.connection.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", self.head.row)
        return self.head

    def follow(self) -> None:
        """Bring head and book up to the newest entry, proving each step."""
        (newest,) = self.connection.execute("SELECT max(sequence) FROM entries").fetchone()
        if not isinstance(newest, int) or not newest >= self.head.sequence:
            raise LedgerCorrupt("the ledger lost entries while it was open.")
        (mac,) = self.connection.execute("SELECT mac FROM entries WHERE sequence = ?", (self.head.sequence,)).fetchone()
        if not same(mac, self.head.mac):
            raise LedgerCorrupt("the ledger was replaced by another while it was open.")
        for link in links_after(self.connection, self.key, self.head):
            self.book.apply(link)
            self.head = link


def links_after(connection: sqlite3.Connection, key: bytes, link: Link | None, most: int = -1) -> Iterator[Link]:
    """Entries after `link` (None: from the first), each proven to follow the one before; all, or at most `most`."""
    sequence, mac = (link.sequence, link.mac) if link else (0, NO_SEAL)
    query = f"SELECT {COLUMNS} FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
    for row in connection.execute(query, (sequence, most)):
        following = authentic(key, mac, row)
        if following.sequence != sequence + 1:
            raise LedgerCorrupt(f"entry {sequence + 1} of the ledger is missing.")
        sequence, mac = following.sequence, following.mac
        yield following


class Journal:
    """The chain of one folder, shared by any number of processes, held to its anchor."""

    def __init__(self, folder: Folder, key: bytes, anchor: Anchor) -> None:
        self._key, self._anchor = key, anchor
        self._store = Store(folder.database)
        self._trusted: tuple[Link, Book] | None = None  # how far this process has followed
        self._anchored = 0

    def create(self, origin: str) -> None:
        """Write the first entry and the anchor's first mark, unless they are there. May be repeated after a crash."""
        with self._store.transaction(write=True) as connection:
            if not has_tables(connection):
                if self._anchor.exists():
                    raise LedgerCorrupt(
                        f"the anchor {self._anchor.path} remembers a ledger that is gone from its folder."
                    )
                make_tables(connection)
                text = canonical_json({"anchor": origin})
                first = seal(self._key, NO_SEAL, 1, "create", text, Book().commitment(self._key))
                connection.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", first.row)
        with self._store.transaction(write=True) as connection:
            # Only a ledger in which nothing has happened may get a first mark.
            if not self._anchor.exists() and (head := self._load(connection).head).sequence == 1:
                self._anchor.create(Mark(1, head.mac))

    def open(self, origin: str) -> None:
        """Trust this ledger, or refuse it: seals, tables and anchor must agree."""
        mark = self._anchor.read()  # before the ledger, which may only be further
        with self._store.transaction(write=False) as connection:
            if not has_tables(connection):
                raise LedgerCorrupt("the ledger is empty, but its anchor is not.")
            page = self._load(connection)
            _check_origin(page, origin)
            self.hold_to(page, mark)
            self._trusted = page.head, page.book
        self.anchor_up_to(page.head.sequence)

    def upgrade(self, count: Callable[[sqlite3.Connection], None]) -> None:
        """Bring tables of the first layout up to this one; entries stay as they are.

        An older dither that has the ledger open would go on by its own rules, and count nothing: one entry of this
        version tells it to stop, since it follows all entries before it writes.
        """
        with self._store.transaction(write=False) as connection:
            if not is_older(connection):
                return
        with self._store.transaction(write=True) as connection:
            if is_older(connection):
                add_tables(connection)
                count(connection)
                page = self._load(connection)
                if self._anchor.exists():
                    self.hold_to(page, self._anchor.read())
                page.append("event", {"event": "upgraded", "body": {"layout": str(LAYOUT)}})

    def restore_anchor(self, origin: str, prove: Callable[[Page], int]) -> None:
        """Anchor a ledger whose anchor is lost where it stands, if all of it can be proven."""
        with self._store.transaction(write=True) as connection:
            if self._anchor.exists():
                raise LedgerError(
                    f"there is a file {self._anchor.path}; move it away if it is not this ledger's anchor."
                )
            page = self._load(connection)
            _check_origin(page, origin)
            prove(page)
            self._anchor.create(Mark(page.head.sequence, page.head.mac))

    def anchor_mark(self) -> Mark:
        """What the anchor says now."""
        return self._anchor.read()

    def hold_to(self, page: Page, mark: Mark) -> None:
        """Refuse a ledger that is behind the mark, or beside it."""
        if mark.sequence > page.head.sequence:
            raise LedgerCorrupt(
                f"the ledger has {page.head.sequence} entries, but its anchor has seen {mark.sequence}: "
                "it was rolled back or cut. Restore the newest copy of the ledger."
            )
        marked = page.entry(mark.sequence)
        if not same(mark.mac, marked.mac):
            raise LedgerCorrupt(f"entry {mark.sequence} of the ledger is not the one its anchor has seen.")
        newest = marked
        for link in links_after(page.connection, self._key, marked):
            newest = link
        if newest != page.head:
            raise LedgerCorrupt("the ledger does not lead from its anchor to its newest entry.")

    @contextmanager
    def reading(self) -> Iterator[Page]:
        """A consistent view of everything committed."""
        with self._store.transaction(write=False) as connection:
            page = self._page(connection)
            yield page
            self._trusted = page.head, page.book

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """One atomic change, durable and anchored when this ends; or none."""
        with self._store.transaction(write=True) as connection:
            page = self._page(connection)
            yield page
        # Committed: from here on the entries stand, whatever happens.
        self._trusted = page.head, page.book
        self.anchor_up_to(page.head.sequence)

    def anchor_up_to(self, sequence: int) -> None:
        """Return once the anchor has durably seen that entry. Nothing that depends on an entry leaves before this."""
        if self._anchored >= sequence:
            return
        # The write lock keeps marks in order; one process's mark covers all that committed before it.
        with self._store.transaction(write=True) as connection:
            page = self._page(connection)
            try:
                mark = self._anchor.advance(Mark(page.head.sequence, page.head.mac))
            except LedgerError as error:
                self._store.stop(str(error))
                raise
            if mark != Mark(page.head.sequence, page.head.mac):
                raise LedgerCorrupt("the ledger was rolled back while it was open: its anchor is ahead of it.")
        self._anchored = mark.sequence

    def close(self) -> None:
        """Let go of the file; nothing is lost."""
        self._store.stop("the ledger is closed; open it again.")

    def _page(self, connection: sqlite3.Connection) -> Page:
        if self._trusted is None:
            return self._load(connection)
        head, book = self._trusted
        page = Page(connection, self._key, head, book.copy())
        page.follow()
        if page.head is not head:
            # Proven and committed by others: it need not be proven again after a transaction that is refused.
            self._trusted = page.head, page.book.copy()
        return page

    def _load(self, connection: sqlite3.Connection) -> Page:
        """Head and book from the tables, which the newest entry must commit to."""
        check_tables(connection)
        (newest,) = connection.execute("SELECT max(sequence) FROM entries").fetchone()
        if not isinstance(newest, int):
            raise LedgerCorrupt("the ledger has no entries.")
        page = Page(connection, self._key, Link(0, 0, "", "", b"", NO_SEAL), Book())
        page.head = page.entry(newest)
        for opened, *numbers in account_rows(connection):
            account = Account.read(page.entry(opened))
            account = replace(account, spent=Units(*numbers[2:]))
            if account_row(account) != (opened, *numbers):
                raise LedgerCorrupt("the cap of an account was changed.")
            page.book.add(account)
        page.book.pending.update(
            number for (number,) in connection.execute("SELECT id FROM reservations WHERE settled IS NULL")
        )
        for (number,) in connection.execute(INCIDENTS).fetchall():
            page.book.interrupt(page.entry(number))
        if not same(page.head.state, page.book.commitment(self._key)):
            raise LedgerCorrupt("the accounts or open reservations of the ledger were changed.")
        return page


def _check_origin(page: Page, origin: str) -> None:
    made_with = page.entry(1).body["anchor"]
    if made_with != origin:
        raise LedgerError(
            f"this ledger was made with {made_with} anchor file; open it with that, not with {origin} one."
        )


def account_rows(connection: sqlite3.Connection) -> list[tuple[int, int, int, int, int]]:
    """The accounts as tabulated."""
    rows = connection.execute(
        "SELECT opened, cap, cap_delta, spent, spent_delta FROM accounts ORDER BY opened"
    ).fetchall()
    if not all(isinstance(number, int) and number >= 0 for row in rows for number in row):
        raise LedgerCorrupt("the accounts of the ledger are unreadable.")
    return rows


def check_row(page: Page, account: Account) -> None:
    """Refuse to charge an account whose row is not what the entries say."""
    row = page.connection.execute(
        "SELECT opened, cap, cap_delta, spent, spent_delta FROM accounts WHERE opened = ?", (account.opened,)
    ).fetchone()
    if row != account_row(account):
        whose = "people" if account.analyst is None else f"analyst {account.analyst!r} on people"
        raise LedgerCorrupt(f"the account of {whose} {account.people!r} was changed behind the ledger.")


def account_row(account: Account) -> tuple[int, int, int, int, int]:
    """The account as it must be tabulated."""
    limit = account.limit
    return account.opened, limit.cost, limit.delta, account.spent.cost, account.spent.delta
