"""What an aggregator keeps on disk: every report that it has seen, what became of it, and its share of the sums."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from dither.study.errors import StudyClosed, StudyClosing
from dither.study.prio.prio3 import NONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

RECEIVED, VALID, REFUSED = "received", "valid", "refused"

_TABLES = """
CREATE TABLE IF NOT EXISTS reports (
    nonce BLOB PRIMARY KEY,
    invitation BLOB NOT NULL UNIQUE,  -- one report for each
    digest BLOB NOT NULL,  -- of everything that came with it: under a nonce nothing else is ever looked at
    state TEXT NOT NULL,
    content TEXT NOT NULL,  -- as it came
    output BLOB  -- this aggregator's share of what is summed, once the proof holds
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reports_by_state ON reports (state);
CREATE TABLE IF NOT EXISTS closing (batch BLOB NOT NULL, nonces BLOB NOT NULL);
"""


@dataclass(frozen=True)
class Row:
    """One report as it is kept."""

    nonce: bytes
    digest: bytes
    state: str
    content: str


class Batch:
    """The reports of one study at one aggregator. Everything is on disk before it is acknowledged."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        self._lock = RLock()
        self._paused = False
        self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + _TABLES)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def add(self, reports: Iterable[tuple[bytes, bytes, bytes, str]]) -> list[bool]:
        """Keep reports (nonce, invitation, digest, content); False where another has the nonce or invitation.

        While a study is closed, or being closed, none is taken that was not before.
        """
        kept = []
        with self._writing() as connection:
            refused = StudyClosed() if self.closed() else StudyClosing() if self._paused else None
            for nonce, invitation, digest, content in reports:
                if refused is None:
                    connection.execute(
                        "INSERT OR IGNORE INTO reports VALUES (?, ?, ?, ?, ?, NULL)",
                        (nonce, invitation, digest, RECEIVED, content),
                    )
                found = connection.execute("SELECT digest FROM reports WHERE nonce = ?", (nonce,)).fetchone()
                same = found is not None and bytes(found[0]) == digest
                if refused is not None and not same:
                    raise refused
                kept.append(same)
        return kept

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile no new report is taken: all that were acknowledged are there when this begins."""
        with self._lock:
            self._paused = True
        try:
            yield
        finally:
            with self._lock:
                self._paused = False

    def row(self, nonce: bytes) -> Row | None:
        with self._lock:
            found = self._connection.execute(
                "SELECT nonce, digest, state, content FROM reports WHERE nonce = ?", (nonce,)
            ).fetchone()
        return None if found is None else Row(*found)

    def received(self, most: int) -> list[Row]:
        """Reports whose proofs are still to be checked."""
        with self._lock:
            found = self._connection.execute(
                "SELECT nonce, digest, state, content FROM reports WHERE state = ? LIMIT ?", (RECEIVED, most)
            ).fetchall()
        return [Row(*row) for row in found]

    def decide(self, verdicts: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Each report's share of what is summed, or None if its proof does not hold; what is decided stays so."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE reports SET state = ?, output = ? WHERE nonce = ? AND state = ?",
                [(REFUSED if out is None else VALID, out, nonce, RECEIVED) for nonce, out in verdicts],
            )

    def refuse(self, nonces: Iterable[bytes]) -> None:
        """Another aggregator finds them wrong: they count nowhere."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE reports SET state = ?, output = NULL WHERE nonce = ?", [(REFUSED, nonce) for nonce in nonces]
            )

    def counts(self) -> dict[str, int]:
        """How many reports are in each state."""
        with self._lock:
            return dict(self._connection.execute("SELECT state, COUNT(*) FROM reports GROUP BY state").fetchall())

    def valid(self) -> list[tuple[bytes, bytes]]:
        """The nonces and digests of the reports that count, in order."""
        with self._lock:
            return self._connection.execute(
                "SELECT nonce, digest FROM reports WHERE state = ? ORDER BY nonce", (VALID,)
            ).fetchall()

    def output(self, nonce: bytes) -> bytes:
        """The share of a report, which is valid."""
        with self._lock:
            row = self._connection.execute("SELECT output FROM reports WHERE nonce = ?", (nonce,)).fetchone()
        return bytes(row[0])

    def close_with(self, batch: bytes, nonces: Sequence[bytes]) -> bytes:
        """From now on no report is taken; what the first call has closed it with stays."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO closing SELECT ?, ? WHERE NOT EXISTS (SELECT * FROM closing)",
                (batch, b"".join(sorted(nonces))),
            )
            return bytes(connection.execute("SELECT batch FROM closing").fetchone()[0])

    def closed(self) -> bool:
        """Whether no report is taken any more."""
        with self._lock:
            return bool(self._connection.execute("SELECT EXISTS (SELECT * FROM closing)").fetchone()[0])

    def closed_with(self) -> list[bytes] | None:
        """The reports that the batch was closed with; others may have become valid since, and count for nothing."""
        with self._lock:
            row = self._connection.execute("SELECT nonces FROM closing").fetchone()
        return None if row is None else [row[0][start : start + NONCE] for start in range(0, len(row[0]), NONCE)]

    def close(self) -> None:
        self._connection.close()
