"""The journal: transactions over the chain. Everything read in one was followed, entry by entry, from a trusted place.

On opening, the newest entry's seal proves its commitment to the book, and the tables must match it. From then on each
transaction follows the entries that other processes added since. So an edited table never gives budget, and the price
of safety is a few microseconds, not a walk over the whole ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from dither.errors import DitherError, LedgerCorrupt, LedgerError
from dither.ledger.book import Book
from dither.ledger.chain import NO_SEAL, Link, canonical_json, same, seal
from dither.ledger.kinds import VERSION
from dither.ledger.page import COLUMNS, Page, links_after, load, moved_to
from dither.ledger.storage.protocol import Connection, Mark, Marks, Place
from dither.ledger.storage.schema import COUNTING, LAYOUT
from dither.ledger.storage.store import undoing
from dither.ledger.storage.together import T, Together
from dither.ledger.totals import covered


class Journal:
    """The chain of one folder, shared by any number of processes, held to its anchor."""

    def __init__(self, folder: Place, key: bytes, anchor: Marks) -> None:
        self._folder, self._key, self._anchor = folder, key, anchor
        self._store = folder.store()
        self._reader = folder.store()  # whoever reads does not wait for a commit that reaches the disk
        self._trusting = Lock()
        self._together = Together(self.writing, _undoing)
        self._trusted: tuple[Link, Book] | None = None  # how far this process has followed
        self._anchored = 0
        self._proven: Mark | None = None  # the anchor's mark that this process last wrote, or found on this chain

    def create(self, origin: str) -> None:
        """Write the first entry and the anchor's first mark, unless they are there. May be repeated after a crash."""
        with self._store.transaction(write=True) as connection:
            if not connection.has_tables():
                if self._anchor.exists():
                    raise LedgerCorrupt(
                        f"the anchor {self._anchor.name} remembers a ledger that is gone from its folder."
                    )
                self._folder.check_unused()
                self._begin(connection, origin)
        with self._store.transaction(write=True) as connection:
            # Only a ledger in which nothing has happened may get a first mark.
            if not self._anchor.exists() and (page := load(connection, self._key)).head.sequence == 1:
                self._anchor.create(page.mark())

    def _begin(self, connection: Connection, origin: str) -> None:
        connection.make_tables()
        text, state = canonical_json({"anchor": origin}), Book().commitment(self._key, VERSION)
        first = seal(self._key, NO_SEAL, 1, "create", text, state)
        connection.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", first.row)

    def open(self, origin: str, *, moved: bool = False) -> None:
        """Trust this ledger, or refuse it: seals, tables and anchor must agree.

        One that has moved is refused unless moved=True; and even then nothing is added to it.
        """
        mark = self._anchor.read()  # before the ledger, which may only be further
        with self._store.transaction(write=False) as connection:
            if not connection.has_tables():
                raise LedgerCorrupt("the ledger is empty, but its anchor is not.")
            page = load(connection, self._key)
            check_origin(page, origin)
            self.hold_to(page, mark)
            if page.head.kind == "moved" and not moved:
                raise LedgerError(moved_to(page.head))
            self._trusted = page.head, page.book
        with self._reader.transaction(write=False):
            pass  # the same file, now: what takes its place later is not read either
        self._folder.make_answers()
        self.anchor_up_to(page.head.sequence)

    def upgrade(self, count: Callable[[Connection], None], prove: Callable[[Page], int]) -> None:
        """Bring tables of an older layout up to this one; entries stay as they are.

        An older dither that has the ledger open would go on by its own rules, and count nothing: one entry of this
        version tells it to stop, since it follows all entries before it writes. That entry is the first to commit to
        all caps and states, so everything is proven before.
        """
        with self._store.transaction(write=False) as connection:
            if not connection.older_layout():
                return
        with self._store.transaction(write=True) as connection:
            if connection.older_layout():
                page = self._changed(connection, count, prove)
                if self._anchor.exists():
                    self.hold_to(page, self._anchor.read())

    def _changed(
        self, connection: Connection, count: Callable[[Connection], None], prove: Callable[[Page], int]
    ) -> Page:
        layout = connection.older_layout()
        connection.change_tables(layout)
        page = load(connection, self._key)
        prove(page)
        if layout < COUNTING:  # neither older layout counted all that is stored
            count(connection)
        page.append("event", {"event": "upgraded", "body": {"layout": str(LAYOUT)}})
        return page

    def restore_anchor(self, origin: str, prove: Callable[[Page], int]) -> None:
        """Anchor a ledger whose anchor is lost where it stands, if all of it can be proven."""
        with self._store.transaction(write=True) as connection:
            if self._anchor.exists():
                raise LedgerError(
                    f"there is a file {self._anchor.name}; move it away if it is not this ledger's anchor."
                )
            page = load(connection, self._key)
            check_origin(page, origin)
            prove(page)
            self._anchor.create(page.mark())

    @contextmanager
    def restoring(
        self, origin: str, count: Callable[[Connection], None], prove: Callable[[Page], int]
    ) -> Iterator[tuple[Page, Mark]]:
        """One atomic change of a ledger that is behind its anchor, or gone, anchored when this ends."""
        mark = self._anchor.read()
        with self._store.transaction(write=True) as connection:
            if not connection.has_tables():
                self._begin(connection, origin)
            page = self._changed(connection, count, prove) if connection.older_layout() else load(connection, self._key)
            check_origin(page, origin)
            if mark.sequence <= page.head.sequence:
                raise LedgerError("this ledger is not behind its anchor, so nothing of it needs to be counted as lost.")
            yield page, mark
        self.anchor_up_to(page.head.sequence)

    def anchor_mark(self) -> Mark:
        """What the anchor says now."""
        return self._anchor.read()

    def hold_to(self, page: Page, mark: Mark) -> None:
        """Refuse a ledger that is behind the mark, or beside it."""
        if mark.sequence > page.head.sequence:
            raise LedgerCorrupt(
                f"the ledger has {page.head.sequence} entries, but its anchor has seen {mark.sequence}: "
                "it was rolled back or cut. Restore the newest copy of the ledger; if that is lost, count what was "
                "spent since with `dither ledger restore`."
            )
        marked = page.restored_after(mark.sequence) or page.entry(mark.sequence)
        if not same(mark.mac, bytes.fromhex(marked.body["mac"]) if marked.sequence > mark.sequence else marked.mac):
            raise LedgerCorrupt(f"entry {mark.sequence} of the ledger is not the one its anchor has seen.")
        newest = marked
        for link in links_after(page.connection, self._key, marked):
            newest = link
        if newest != page.head:
            raise LedgerCorrupt("the ledger does not lead from its anchor to its newest entry.")
        if not covered(mark.parts or (), page.book.totals()):
            raise LedgerCorrupt("the anchor has seen an account spend more than the ledger says.")

    @contextmanager
    def reading(self) -> Iterator[Page]:
        """A consistent view of everything committed."""
        trusted = self._known()  # before the view begins: what others commit and follow after that is not in it
        with self._reader.transaction(write=False) as connection:
            page = self._page(connection, trusted)
            yield page
            self._trust(page)

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """One atomic change, durable and anchored when this ends; or none."""
        with self._store.transaction(write=True) as connection:
            page = self._page(connection, self._known())
            with self._stopping():
                self._check_lineage(page, self._anchor.read())
            yield page
        # Committed: from here on the entries stand, whatever happens.
        self._trust(page)
        self.anchor_up_to(page.head.sequence)

    def write(self, change: Callable[[Page], T]) -> T:
        """One atomic change, durable and anchored on return; it shares its commit with others that wait by then."""
        return self._together.write(change)

    def anchor_up_to(self, sequence: int) -> None:
        """Return once the anchor has durably seen that entry. Nothing that depends on an entry leaves before this."""
        if self._anchored >= sequence:
            return
        # The write lock keeps marks in order; one process's mark covers all that committed before it.
        with self._store.turn() as connection:
            page = self._page(connection, self._known())
            with self._stopping():
                self._proven = self._anchor.advance(page.mark(), lambda newest: self._check_lineage(page, newest))
            self._anchored = page.head.sequence

    def _check_lineage(self, page: Page, newest: Mark) -> None:
        """Refuse to go on beside an anchor that followed another ledger: a copy of this one, or one restored."""
        if newest != self._proven or newest.sequence > page.head.sequence:
            self.hold_to(page, newest)
            self._proven = newest

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Whatever is wrong with the anchor, nothing more is served until the ledger is opened anew.

        Unless it cannot be reached just now: then nothing is returned, and whoever asks again reaches it or does not.
        """
        try:
            yield
        except LedgerError as error:
            if not self._anchor.lasting and not isinstance(error, LedgerCorrupt):
                raise
            for store in (self._store, self._reader):
                store.stop(str(error))
            raise

    def check_file(self) -> None:
        """Refuse what the database finds inconsistent; on a connection of its own, so that nobody waits for it."""
        aside = self._folder.store()
        try:
            with aside.transaction(write=False) as connection:
                connection.check_whole()
        finally:
            aside.stop("")

    def close_store(self) -> None:
        """Let go of the file alone."""
        for store in (self._store, self._reader):
            store.stop("the ledger is closed; open it again.")

    def close(self) -> None:
        """Let go of everything; nothing is lost."""
        self.close_store()
        self._folder.close()
        self._anchor.close()

    def _known(self) -> tuple[Link, Book] | None:
        with self._trusting:
            return self._trusted

    def _page(self, connection: Connection, trusted: tuple[Link, Book] | None) -> Page:
        if trusted is None:
            return load(connection, self._key)
        head, book = trusted
        page = Page(connection, self._key, head, book.copy())
        page.follow()
        if page.head is not head:
            # Proven and committed by others: it need not be proven again after a transaction that is refused.
            self._trust(replace(page, book=page.book.copy()))
        return page

    def _trust(self, page: Page) -> None:
        """Remember how far was followed; never less than before, whoever is later."""
        with self._trusting:
            if self._trusted is None or page.head.sequence > self._trusted[0].sequence:
                self._trusted = page.head, page.book


def check_origin(page: Page, origin: str) -> None:
    made_with = page.entry(1).body["anchor"]
    if made_with != origin:
        raise LedgerError(f"this ledger was made with {made_with} anchor; open it with that, not with {origin} one.")


@contextmanager
def _undoing(page: Page) -> Iterator[None]:
    """Take back what is done inside, in the file and in the book, if it is refused."""
    head, book = page.head, page.book.copy()
    with undoing(page.connection):
        try:
            yield
        except DitherError:
            page.head, page.book = head, book
            raise
