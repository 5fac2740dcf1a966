"""One transaction's view of the chain: proven entries, the book that follows from them, and the tables beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.book import Account, Book, packed
from dither.ledger.chain import NO_SEAL, Link, authentic, canonical_json, same, seal
from dither.ledger.kinds import VERSION, check_body
from dither.ledger.storage.protocol import Connection, Mark
from dither.ledger.storage.schema import OF_THE_BOOK
from dither.ledger.units import Units

COLUMNS = "sequence, version, kind, body, state, mac"
NOTES = f"SELECT sequence FROM entries WHERE {OF_THE_BOOK} ORDER BY sequence"
OUTCOMES = "SELECT settled, id FROM reservations WHERE settled IS NOT NULL ORDER BY settled"
_MANY = 4096  # rows that are read at once
ALL = 2**62  # rows: more than there can be


@dataclass
class Page:
    """One transaction's view: the newest entry, and the book as of that entry."""

    connection: Connection
    key: bytes
    head: Link
    book: Book

    def entry(self, sequence: int) -> Link:
        """The authentic entry of that sequence; LedgerCorrupt if there is none."""
        if not (isinstance(sequence, int) and sequence >= 1):  # a pointer out of an edited table
            raise LedgerCorrupt("the ledger points to an entry that cannot exist.")
        rows = self.connection.execute(
            f"SELECT {COLUMNS} FROM entries WHERE sequence <= ? ORDER BY sequence DESC LIMIT 2", (sequence,)
        ).fetchall()
        row, before = [*rows, None, None][:2]
        mac = NO_SEAL if sequence == 1 else None
        if before is not None and (before[0] == sequence - 1 or row[2] == "restore"):
            mac = before[-1]
        link = authentic(self.key, mac, row if row and row[0] == sequence else None)
        if not link.comes_after(before[0] if before else 0):
            raise LedgerCorrupt(f"an entry before entry {sequence} of the ledger is missing.")
        return link

    def append(self, kind: str, body: Mapping[str, object]) -> Link:
        """Write the next entry, committing to the book that follows from it. Durable when the transaction ends."""
        if self.book.unread:
            raise LedgerError(
                f"entry {self.book.unread[0]} of the ledger means something that this dither does not know; upgrade it."
            )
        if self.head.kind == "moved" and kind != "arrived":
            raise LedgerError(moved_to(self.head))
        follows = body["sequence"] if kind == "restore" else self.head.sequence
        draft = Link(int(str(follows)) + 1, VERSION, kind, canonical_json(body), b"", b"")
        check_body(draft.sequence, VERSION, kind, body)
        self.book.apply(draft)
        state = self.book.commitment(self.key, VERSION)
        self.head = seal(self.key, self.head.mac, draft.sequence, kind, draft.text, state)
        self.connection.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", self.head.row)
        return self.head

    def mark(self) -> Mark:
        """This place, for an anchor."""
        return Mark(self.head.sequence, self.head.mac, self.book.totals())

    def restored_after(self, sequence: int) -> Link | None:
        """The entry that goes on from that place after what followed it was lost, if there is one."""
        row = self.connection.execute("SELECT kind FROM entries WHERE sequence = ?", (sequence + 1,)).fetchone()
        return self.entry(sequence + 1) if row == ("restore",) else None

    def follow(self) -> None:
        """Bring head and book up to the newest entry, proving each step."""
        newest = self.connection.execute("SELECT sequence, mac FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
        if newest is None or not isinstance(newest[0], int) or not newest[0] >= self.head.sequence:
            raise LedgerCorrupt("the ledger lost entries while it was open.")
        if newest[0] == self.head.sequence and same(newest[1], self.head.mac):
            return
        (mac,) = self.connection.execute("SELECT mac FROM entries WHERE sequence = ?", (self.head.sequence,)).fetchone()
        if not same(mac, self.head.mac):
            raise LedgerCorrupt("the ledger was replaced by another while it was open.")
        for link in links_after(self.connection, self.key, self.head):
            self.book.apply(link)
            self.head = link


def links_after(connection: Connection, key: bytes, link: Link | None, most: int = ALL) -> Iterator[Link]:
    """Entries after `link` (None: from the first), each proven to follow the one before; all, or at most `most`."""
    sequence, mac, kind = (link.sequence, link.mac, link.kind) if link else (0, NO_SEAL, "")
    query = f"SELECT {COLUMNS} FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
    for row in connection.execute(query, (sequence, most)):
        following = authentic(key, mac, row)
        if not following.comes_after(sequence):
            raise LedgerCorrupt(f"entry {sequence + 1} of the ledger is missing.")
        if not following.goes_on_from(kind):
            raise LedgerCorrupt(f"entry {following.sequence} of the ledger goes on where the ledger has moved away.")
        sequence, mac, kind = following.sequence, following.mac, following.kind
        yield following


def moved_to(link: Link) -> str:
    """Why nothing is served from a place that a ledger has left."""
    return (
        f"this ledger has moved to a {'database' if link.body['to'] == 'database' else 'folder'}; if that was cut "
        "short, say `dither ledger copy` again."
    )


def load(connection: Connection, key: bytes) -> Page:
    """Head and book from the tables, which the newest entry must commit to."""
    connection.check_tables()
    (newest,) = connection.execute("SELECT max(sequence) FROM entries").fetchone()
    if not isinstance(newest, int):
        raise LedgerCorrupt("the ledger has no entries.")
    page = Page(connection, key, Link(0, 0, "", "", b"", NO_SEAL), Book(key))
    page.head = page.entry(newest)
    noted = []
    for opened, *numbers in account_rows(connection):
        noted.append(page.entry(opened))
        account = Account.read(noted[-1])
        page.book.add(replace(account, spent=Units(*numbers[2:])))
    page.book.pending.update(
        number for rows in _whole(connection, "SELECT id FROM reservations WHERE settled IS NULL") for (number,) in rows
    )
    for rows in _whole(connection, OUTCOMES):
        page.book.outcomes.update(packed(*rows))
    noted += [page.entry(number) for (number,) in connection.execute(NOTES).fetchall()]
    for link in sorted(noted, key=lambda link: link.sequence):
        page.book.note(link)
    if [account.row for account in page.book.accounts.each()] != account_rows(connection):
        raise LedgerCorrupt("the cap of an account was changed.")
    if not same(page.head.state, page.book.commitment(key, page.head.version)):
        raise LedgerCorrupt("the accounts or reservations of the ledger were changed.")
    return page


def _whole(connection: Connection, query: str) -> Iterator[list[tuple[int, ...]]]:
    """Rows of whole numbers, many at a time; a damaged file may hold anything."""
    found = connection.execute(query)
    while rows := found.fetchmany(_MANY):
        if not all(isinstance(number, int) for row in rows for number in row):
            raise LedgerCorrupt("the reservations of the ledger are unreadable.")
        yield rows


def account_rows(connection: Connection) -> list[tuple[int, int, int, int, int]]:
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
    if row != account.row:
        whose = "people" if account.analyst is None else f"analyst {account.analyst!r} on people"
        raise LedgerCorrupt(f"the account of {whose} {account.people!r} was changed behind the ledger.")
