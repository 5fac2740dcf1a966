"""The full walk: everything the tables say must follow from the entries, and every answer must be the one settled."""

from __future__ import annotations

from collections import Counter

from dither.errors import LedgerCorrupt
from dither.ledger import index
from dither.ledger.book import Book
from dither.ledger.chain import Link, same
from dither.ledger.files import Folder
from dither.ledger.journal import Page, account_row, account_rows, links_after


def verify(page: Page, folder: Folder) -> int:
    """Replay all entries; the number of them, or LedgerCorrupt at the first thing that does not follow."""
    connection = page.connection
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise LedgerCorrupt("SQLite finds the ledger's file inconsistent.")
    book, reserved, settled = Book(), dict[int, Link](), dict[int, Link]()
    head = None
    for head in links_after(connection, page.key, None):
        book.apply(head)
        if not same(head.state, book.commitment(page.key)):
            raise LedgerCorrupt(f"entry {head.sequence} of the ledger commits to another state of the accounts.")
        if head.kind == "reserve":
            reserved[head.sequence] = head
        elif head.kind in ("settle", "fail"):
            settled[head.body["reservation"]] = head
        elif head.kind == "incident":
            charged = reserved.get(head.body["reservation"])
            if charged is None or charged.body["people"] != head.body["people"]:
                raise LedgerCorrupt(f"entry {head.sequence} of the ledger is an incident of nobody's question.")
    if head != page.head:
        raise LedgerCorrupt("the ledger does not end where it was followed to.")
    if account_rows(connection) != [account_row(account) for account in book.accounts.values()]:
        raise LedgerCorrupt("what accounts have spent is not the sum of their entries.")
    expected = [index.row_of(entry, settled[n].sequence if n in settled else None) for n, entry in reserved.items()]
    if connection.execute(f"SELECT {index.COLUMNS} FROM reservations ORDER BY id").fetchall() != expected:
        raise LedgerCorrupt("the reservations do not follow from the entries.")
    inline, stored = [], Counter[str]()
    for entry in reserved.values():
        stored[entry.body["analyst"] or ""] += index.recorded(entry.body)
    for number in sorted(settled):
        _, answer = index.outcome(page, folder, number, settled[number].sequence)
        if answer is not None:
            stored[reserved[number].body["analyst"] or ""] += len(answer)
        if not settled[number].body.get("file", True):
            inline.append((number,))
    if connection.execute("SELECT reservation FROM answers ORDER BY reservation").fetchall() != inline:
        raise LedgerCorrupt("there are answers that no entry settled.")
    if dict(connection.execute("SELECT analyst, bytes FROM stored").fetchall()) != stored:
        raise LedgerCorrupt("the bytes that analysts have stored are not those of their questions and answers.")
    return page.head.sequence
