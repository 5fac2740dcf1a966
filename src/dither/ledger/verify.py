"""The full walk: everything the tables say must follow from the entries, and every answer must be the one settled.

It goes page by page, each in a short transaction of its own, up to the entry that was the newest when it began, and
holds no more than the book; others write meanwhile. The little that they added is followed last, with the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from dither.errors import LedgerCorrupt
from dither.ledger import index
from dither.ledger.book import Book
from dither.ledger.chain import Link, same
from dither.ledger.page import ALL, Page, account_rows, links_after
from dither.ledger.storage.protocol import Place

PAGE_OF_ENTRIES = 500
_ROUNDS = 3  # up to what was the newest entry when each began: what others added meanwhile becomes less and less


@dataclass
class Walk:
    """How far the walk has come, and what follows from the entries up to there."""

    book: Book
    folder: Place | None  # None: whatever was settled, its answer is not looked at
    last: Link | None = None
    entries: int = 0
    reserved: int = 0
    settled: int = 0
    inline: int = 0
    stored: dict[str, int] = field(default_factory=dict)
    files: list[tuple[str, str]] = field(default_factory=list)  # names and analysts of large answers to be looked at

    def follow(self, page: Page, most: int) -> None:
        """Prove so many more entries, and what the tables say of each."""
        for link in links_after(page.connection, page.key, self.last, most):
            self.book.apply(link)
            if not same(link.state, self.book.commitment(page.key, link.version)):
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger commits to another state of the accounts.")
            if link.kind == "reserve":
                self._reserved(page, link)
            elif link.kind in ("settle", "fail"):
                self._settled(page, link)
            elif link.kind == "incident":
                charged = page.entry(link.body["reservation"])
                known = charged.sequence < link.sequence and charged.kind == "reserve"
                if not known or charged.body["people"] != link.body["people"]:
                    raise LedgerCorrupt(f"entry {link.sequence} of the ledger is an incident of nobody's question.")
            self.last = link
            self.entries += 1

    def _reserved(self, page: Page, link: Link) -> None:
        self.reserved += 1
        row = page.connection.execute(
            f"SELECT {index.COLUMNS} FROM reservations WHERE id = ?", (link.sequence,)
        ).fetchone()
        if row is None or row[:-1] != index.row_of(link, None)[:-1]:
            raise LedgerCorrupt("the reservations do not follow from the entries.")
        self._count(link.body["analyst"] or "", index.recorded(link.body))

    def _settled(self, page: Page, link: Link) -> None:
        self.settled += 1
        number = link.body["reservation"]
        row = page.connection.execute("SELECT settled FROM reservations WHERE id = ?", (number,)).fetchone()
        if row != (link.sequence,):
            raise LedgerCorrupt("the reservations do not follow from the entries.")
        if link.kind == "fail" or self.folder is None:
            return
        analyst = page.entry(number).body["analyst"] or ""
        if link.body["file"]:
            self.files.append((link.body["sha256"], analyst))
            return
        self.inline += 1
        _, answer = index.outcome(page, self.folder, number, link.sequence)
        self._count(analyst, len(answer or b""))

    def read_files(self) -> None:
        """Look at the large answers that were come by; no transaction needs to wait for them."""
        while self.files and self.folder is not None:
            name, analyst = self.files.pop()
            self._count(analyst, len(self.folder.load_answer(name)))

    def _count(self, analyst: str, size: int) -> None:
        self.stored[analyst] = self.stored.get(analyst, 0) + size

    def compare(self, page: Page) -> None:
        """Hold the tables against all entries of this very transaction."""
        if self.last != page.head:
            raise LedgerCorrupt("the ledger does not end where it was followed to.")
        if account_rows(page.connection) != [account.row for account in self.book.accounts.each()]:
            raise LedgerCorrupt("what accounts have spent is not the sum of their entries.")
        # Each of those that the entries know of was seen; so there are others if there are more.
        found = page.connection.execute("SELECT count(*), count(settled) FROM reservations").fetchone()
        if found != (self.reserved, self.settled):
            raise LedgerCorrupt("the reservations do not follow from the entries.")
        if self.folder is None:
            return
        if page.connection.execute("SELECT count(*) FROM answers").fetchone() != (self.inline,):
            raise LedgerCorrupt("there are answers that no entry settled.")
        if dict(page.connection.execute("SELECT analyst, bytes FROM stored").fetchall()) != self.stored:
            raise LedgerCorrupt("the bytes that analysts have stored are not those of their questions and answers.")


def verify(reading: Callable[[], AbstractContextManager[Page]], folder: Place | None) -> int:
    """Replay all entries; the number of them, or LedgerCorrupt at the first thing that does not follow.

    Without a folder, answers are not looked at.
    """
    with reading() as page:
        walk = Walk(Book(page.key), folder)
    for _ in range(_ROUNDS):
        with reading() as page:
            goal = page.head.sequence
        while walk.last is None or walk.last.sequence < goal:
            before = walk.entries
            with reading() as page:
                walk.follow(page, PAGE_OF_ENTRIES)
            walk.read_files()
            if walk.entries == before:
                raise LedgerCorrupt("the ledger does not end where it was followed to.")
    with reading() as page:
        walk.follow(page, ALL)
        walk.read_files()
        walk.compare(page)
    return walk.entries


def verify_page(page: Page, folder: Place | None) -> int:
    """The same, all in one transaction that somebody else has begun."""
    page.connection.check_whole()
    return verify(lambda: nullcontext(page), folder)
