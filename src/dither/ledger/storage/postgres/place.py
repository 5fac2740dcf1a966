"""A curator's folder whose ledger is in a PostgreSQL database: the key stays in the folder, large answers do not."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from dither.errors import LedgerCorrupt, LedgerMissing
from dither.ledger.chain import same
from dither.ledger.storage.files import Folder
from dither.ledger.storage.postgres.schema import TURN
from dither.ledger.storage.postgres.store import PostgresStore
from dither.ledger.storage.protocol import Store

_PART = 2**23  # bytes of a large answer that are sent at once


class Database(Folder):
    """Where such a ledger lives."""

    def __init__(self, path: Path, address: str) -> None:
        super().__init__(path)
        self.begun = (self.address.name, self.key.name, ".ledger.")
        self._where = address
        self._aside = PostgresStore(address)

    def store(self) -> Store:
        return PostgresStore(self._where)

    def close(self) -> None:
        self._aside.stop("the ledger is closed; open it again.")

    def cluster(self) -> int:
        """Which cluster the ledger is in."""
        return self._aside.cluster()

    def prepare(self, *, key: bool = True) -> None:
        """Make what a new ledger needs: folder, key, address, the row that writers lock; leaves alone what is there."""
        self.make_folder()
        self.make_key(new=key and not self.address.exists())
        self.write_address(self._where)
        self._aside.make_space(*TURN)

    def prepare_beside(self) -> None:
        """Make what a ledger needs that moves into the database; the folder knows nothing of it yet."""
        self.read_key()
        self._aside.make_space(*TURN)

    def take_over(self) -> None:
        """From now on the ledger is looked for in the database. The file of before is kept under another name."""
        self.write_address(self._where)
        if self.database.exists() and not self.database.with_name(f"{self.database.name}-wal").exists():
            os.replace(self.database, self.database.with_name(f"{self.database.name}.moved"))

    def check(self) -> None:
        self._check_folder()
        if not self.address.exists() or not self._aside.has("turn"):
            raise LedgerMissing(f"{self.path} and {self._aside.name}", exists=True)

    def store_answer(self, answer: bytes) -> None:
        """A large answer is durable in parts under its hash."""
        name = sha256(answer).hexdigest()
        with self._aside.adding() as session:
            for part, place in enumerate(range(0, len(answer), _PART)):
                session.execute(
                    "INSERT INTO large_answers VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (name, part, answer[place : place + _PART]),
                )

    def answer_size(self, name: str) -> int:
        with self._aside.transaction(write=False) as session:
            (found,) = session.execute(
                "SELECT coalesce(sum(octet_length(content)), 0) FROM large_answers WHERE name = ?", (name,)
            ).fetchone()
        return int(found)

    def load_answer(self, name: str) -> bytes:
        with self._aside.transaction(write=False) as session:
            parts = session.execute(
                "SELECT content FROM large_answers WHERE name = ? ORDER BY part", (name,)
            ).fetchall()
        answer = b"".join(content for (content,) in parts)
        if not same(sha256(answer).digest(), bytes.fromhex(name)):
            raise LedgerCorrupt(f"the stored answer {name} is missing or was changed.")
        return answer
