"""What a server keeps beside the ledger: tokens, requests with what they were answered, and jobs.

Nothing here decides what is charged: the ledger does. A row is durable before anybody is told what it says.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from dither.errors import LedgerError
from dither.ledger.storage.store import undoing
from dither.ledger.storage.together import Together

FORMAT = 1
_SCHEMA = """
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT, verifier TEXT NOT NULL, label TEXT NOT NULL,
    made INTEGER NOT NULL, until INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE requests (
    principal TEXT NOT NULL, request TEXT NOT NULL, digest BLOB NOT NULL, answer TEXT,
    PRIMARY KEY (principal, request)
) STRICT, WITHOUT ROWID;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, token TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL,
    result TEXT, made INTEGER NOT NULL, lease INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, made);
CREATE TABLE answers (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, made INTEGER NOT NULL, document BLOB NOT NULL
) STRICT;
"""


@dataclass(frozen=True)
class TokenRow:
    """A token as it is kept; times are whole seconds since 1970."""

    id: str
    role: str
    name: str | None
    verifier: str
    label: str
    made: int
    until: int
    revoked: int | None


@dataclass(frozen=True)
class JobRow:
    """A job as it is kept: its body and result are JSON; until `lease` a process has it in hand."""

    id: str
    principal: str
    token: str
    body: str
    state: str
    result: str | None
    made: int
    lease: int


class Store:
    """server.sqlite in the curator's folder, read and written by all server processes and the command line."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "server.sqlite"
        self._lock, self._reading = Lock(), Lock()
        self._connection = self._open()
        self._reader = self._open()  # whoever reads does not wait for a commit that reaches the disk
        self._together = Together(self._transaction, undoing)

    def _open(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={FORMAT}")
            connection.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"{self._path} cannot be used: {error}.") from error
        if found not in (0, FORMAT):
            connection.close()
            raise LedgerError(f"{self._path} has format {found}; this dither reads format {FORMAT}.")
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on the disk when it ends."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path} cannot be written: {error}.") from error

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reader.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path} cannot be read: {error}.") from error

    # -- tokens

    def add_token(self, row: TokenRow) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(row))

    def revoke_token(self, identity: str, now: int) -> bool:
        """Whether there is one; the time of the first revocation stays."""
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, identity)
            )
            return changed.rowcount == 1

    def token(self, identity: str) -> TokenRow | None:
        found = self._read("SELECT * FROM tokens WHERE id = ?", (identity,))
        return TokenRow(*found[0]) if found else None

    def tokens(self) -> list[TokenRow]:
        return [TokenRow(*row) for row in self._read("SELECT * FROM tokens ORDER BY made, id")]

    # -- requests and answers

    def request(self, principal: str, request: str) -> tuple[bytes, str | None] | None:
        """The digest of what was asked under a request id, and the id of its answer, if it has one."""
        found = self._read(
            "SELECT digest, answer FROM requests WHERE principal = ? AND request = ?", (principal, request)
        )
        return (found[0][0], found[0][1]) if found else None

    def bind(self, principal: str, request: str, digest: bytes) -> bytes:
        """Bind a request id to what is asked under it, for good; the digest that it is bound to, of now or before."""

        def change(connection: sqlite3.Connection) -> bytes:
            connection.execute("INSERT OR IGNORE INTO requests VALUES (?, ?, ?, NULL)", (principal, request, digest))
            (bound,) = connection.execute(
                "SELECT digest FROM requests WHERE principal = ? AND request = ?", (principal, request)
            ).fetchone()
            return bytes(bound)

        return self._together.write(change)

    def unbind(self, principal: str, request: str) -> None:
        """Free an id under which nothing was charged: what is asked under it next may be something else."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM requests WHERE principal = ? AND request = ? AND answer IS NULL", (principal, request)
            )

    def keep(self, principal: str, request: str | None, digest: bytes, identity: str, document: bytes) -> str:
        """Keep an answer under its id, and bind the request to it; the id of the answer that the request has first."""

        def change(connection: sqlite3.Connection) -> str:
            if request is not None:
                connection.execute(
                    "INSERT INTO requests VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET answer = coalesce(answer, ?)",
                    (principal, request, digest, identity, identity),
                )
                (bound,) = connection.execute(
                    "SELECT answer FROM requests WHERE principal = ? AND request = ?", (principal, request)
                ).fetchone()
                if bound != identity:
                    return str(bound)
            values = (identity, principal, int(time.time()), document)
            connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", values)
            return identity

        return self._together.write(change)

    def answer(self, principal: str, identity: str) -> bytes | None:
        """An answer of this very principal."""
        found = self._read("SELECT document FROM answers WHERE id = ? AND principal = ?", (identity, principal))
        return bytes(found[0][0]) if found else None

    # -- jobs

    def add_job(self, row: JobRow, most: int) -> bool:
        """Whether there was room: at most so many jobs of a principal wait or run."""
        with self._transaction() as connection:
            (open_jobs,) = connection.execute(
                "SELECT count(*) FROM jobs WHERE principal = ? AND state IN ('queued', 'running')", (row.principal,)
            ).fetchone()
            if open_jobs < most:
                connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(row))
            return bool(open_jobs < most)

    def job(self, principal: str, identity: str) -> JobRow | None:
        found = self._read("SELECT * FROM jobs WHERE id = ? AND principal = ?", (identity, principal))
        return JobRow(*found[0]) if found else None

    def take_job(self, now: int, lease: int) -> JobRow | None:
        """The next job that nobody has in hand: of those principals who have one running fewest, the oldest."""
        free = "state = 'queued' OR (state = 'running' AND lease < ?)"
        running = "SELECT count(*) FROM jobs r WHERE r.principal = j.principal AND r.state = 'running' AND r.lease >= ?"
        with self._transaction() as connection:
            found = connection.execute(
                f"SELECT * FROM jobs j WHERE {free} ORDER BY ({running}), made, id LIMIT 1", (now, now)
            ).fetchone()
            if found is None:
                return None
            connection.execute("UPDATE jobs SET state = 'running', lease = ? WHERE id = ?", (lease, found[0]))
        return JobRow(*found)

    def renew_jobs(self, identities: list[str], lease: int) -> None:
        """Keep jobs in hand for longer."""
        with self._transaction() as connection:
            connection.executemany("UPDATE jobs SET lease = ? WHERE id = ?", [(lease, one) for one in identities])

    def end_job(self, identity: str, state: str, result: str | None, *, only: str = "running") -> bool:
        """Whether the job was in that state and is in the other now."""
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = ?, result = ? WHERE id = ? AND state = ?", (state, result, identity, only)
            )
            return changed.rowcount == 1

    def close(self) -> None:
        with self._lock, self._reading:
            self._connection.close()
            self._reader.close()
