"""An anchor that is a row in a database of another cluster than the ledger's, seen from all hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.chain import digest
from dither.ledger.storage.marks import SLOT, packed, unpacked
from dither.ledger.storage.postgres.store import PostgresStore
from dither.ledger.storage.protocol import Connection, Mark

SPACE = "dither_anchor"
_TABLE = "CREATE TABLE IF NOT EXISTS marks (ledger TEXT PRIMARY KEY, mark BYTEA NOT NULL)"


class RowAnchor:
    """The mark of one ledger. Others may have theirs in the same table: which is whose is known by the key."""

    lasting: ClassVar[bool] = False

    def __init__(self, address: str, key: bytes) -> None:
        self.store, self.key = PostgresStore(address, SPACE), key
        self._ledger = digest(key, b"anchor of").hex()
        self._made = False

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"in {self.store.name}"

    def exists(self) -> bool:
        """Whether this ledger has a mark."""
        return self._slot() is not None

    def close(self) -> None:
        """Let go of the connection."""
        self.store.stop("the ledger is closed; open it again.")

    def create(self, mark: Mark) -> None:
        """Make the row with this mark; one that is there already is not touched."""
        self.store.make_space(_TABLE)
        with self.store.adding() as connection:
            made = connection.execute(
                "INSERT INTO marks VALUES (?, ?) ON CONFLICT DO NOTHING", (self._ledger, packed(self.key, mark, SLOT))
            )
            if made.rowcount != 1:
                raise LedgerError(f"the anchor {self.name} has a mark of this ledger already.")

    def read(self) -> Mark:
        """The newest mark; LedgerError if there is none, LedgerCorrupt if it is not authentic."""
        return self._mark(self._slot())

    def advance(self, mark: Mark, check: Callable[[Mark], None] = lambda newest: None) -> Mark:
        """Durably record `mark` unless the anchor is there already; returns the newest mark. Never moves backwards.

        `check` is shown the mark that is there, and may refuse to go on from it.
        """
        with self.store.adding() as connection:
            found = self._row(connection, " FOR UPDATE")
            newest = self._mark(found)
            check(newest)
            if newest.sequence >= mark.sequence:
                return newest
            moved = connection.execute(
                "UPDATE marks SET mark = ? WHERE ledger = ? AND mark = ?",
                (packed(self.key, mark, SLOT), self._ledger, found),
            )
            if moved.rowcount != 1:
                raise LedgerError(f"the anchor {self.name} was moved by somebody else.")
        return mark

    def _slot(self) -> object:
        self._made = self._made or self.store.has("marks")
        if not self._made:
            return None
        with self.store.transaction(write=False) as connection:
            return self._row(connection, "")

    def _row(self, connection: Connection, lock: str) -> object:
        row = connection.execute(f"SELECT mark FROM marks WHERE ledger = ?{lock}", (self._ledger,)).fetchone()
        return None if row is None else row[0]

    def _mark(self, slot: object) -> Mark:
        if slot is None:
            raise self._missing()
        mark = unpacked(self.key, slot, SLOT) if isinstance(slot, bytes) else None
        if mark is None or packed(self.key, mark, SLOT) != slot:
            raise LedgerCorrupt(f"the anchor {self.name} is damaged.")
        return mark

    def _missing(self) -> LedgerError:
        return LedgerError(f"the anchor {self.name} has no mark of this ledger. Give the anchor it was made with.")
