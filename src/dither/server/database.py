"""Where a server's tokens, requests, answers and jobs are kept: in the curator's folder, or beside the ledger's tables.

A server whose ledger is in PostgreSQL keeps them there too, so that every process and host sees the same. Statements
are written as both understand them, values as `?`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from dither.errors import LedgerError
from dither.ledger.storage.address import IN_THE_FOLDER, known_address
from dither.ledger.storage.protocol import Connection, Cursor
from dither.ledger.storage.turn import turn_at

FORMAT = 3
SPACE = "dither_server"
_SINCE_FORMAT_3 = (
    "CREATE INDEX jobs_by_coming ON jobs (came)",
    "CREATE INDEX jobs_by_begin ON jobs (principal, begun)",
    "CREATE INDEX jobs_of_one ON jobs (principal, came)",
    "CREATE INDEX answers_of_one ON answers (principal, free, made)",
    "CREATE INDEX requests_by_answer ON requests (answer)",
    """CREATE TABLE shared (
    id {text} PRIMARY KEY, principal {text} NOT NULL, made {whole} NOT NULL, digest {bytes} NOT NULL,
    question {text} NOT NULL, UNIQUE (principal, digest)
)""",
)
# {text}, {whole} and {bytes} are the types of the database.
TABLES = (
    """CREATE TABLE tokens (
    id {text} PRIMARY KEY, role {text} NOT NULL, name {text}, verifier {text} NOT NULL, label {text} NOT NULL,
    made {whole} NOT NULL, until {whole} NOT NULL, revoked {whole}
)""",
    """CREATE TABLE requests (
    principal {text} NOT NULL, request {text} NOT NULL, digest {bytes} NOT NULL, body {text} NOT NULL, answer {text},
    attempts {whole} NOT NULL, lease {whole} NOT NULL, PRIMARY KEY (principal, request)
)""",
    """CREATE TABLE jobs (
    id {text} PRIMARY KEY, principal {text} NOT NULL, token {text} NOT NULL, body {text} NOT NULL,
    state {text} NOT NULL, result {text}, made {whole} NOT NULL, lease {whole} NOT NULL,
    came {whole} NOT NULL DEFAULT 0, begun {whole} NOT NULL DEFAULT 0
)""",
    "CREATE INDEX jobs_by_state ON jobs (state, made)",
    """CREATE TABLE answers (
    id {text} PRIMARY KEY, principal {text} NOT NULL, made {whole} NOT NULL, document {bytes} NOT NULL,
    free {whole} NOT NULL DEFAULT 0
)""",
    *_SINCE_FORMAT_3,
)
# Ids without an answer have no body there: they are freed, and a charge under one of them is bound in the ledger.
_FROM_FORMAT_1 = (
    "ALTER TABLE requests RENAME TO requests_1",
    TABLES[1],
    "INSERT INTO requests SELECT principal, request, digest, '', answer, 0, 0 FROM requests_1 WHERE answer IS NOT NULL",
    "DROP TABLE requests_1",
)
# Jobs that wait keep the order in which they would have been begun.
_FROM_FORMAT_2 = (
    "ALTER TABLE jobs ADD COLUMN came {whole} NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN begun {whole} NOT NULL DEFAULT 0",
    "ALTER TABLE answers ADD COLUMN free {whole} NOT NULL DEFAULT 0",
    "UPDATE jobs SET came = (SELECT count(*) FROM jobs o WHERE o.state = 'queued' AND (o.made, o.id) <= "
    "(jobs.made, jobs.id)) WHERE state = 'queued'",
    *_SINCE_FORMAT_3,
)
NAMES = ("tokens", "requests", "jobs", "answers", "shared")


class Statements(Protocol):
    """A transaction under way."""

    def execute(self, statement: str, values: Any = ..., /) -> Cursor: ...


class Database(Protocol):
    """Transactions that are durable when they end and exclude each other, and reads that wait for none.

    One that is not durable is seen by all when it ends, survives whatever happens to processes, and is synced by the
    next one that is: only if the machine itself stops before, it is as if it had never been.
    """

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Connection]: ...
    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]: ...
    def close(self) -> None: ...


def database_of(folder: Path) -> Database:
    """The one that belongs to a curator's folder."""
    address = known_address(folder)
    return File(folder / "server.sqlite") if address is None else Postgres(address)


class File:
    """server.sqlite, read and written by all server processes and the command line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._reading = Lock(), Lock()
        self._connection = self._open()
        self._reader = self._open()  # whoever reads does not wait for a commit that reaches the disk

    def _open(self) -> sqlite3.Connection:
        try:
            # Never opened and closed while a connection of this process has it open: that would drop the locks by which
            # SQLite knows that its log is in use, and whoever closes next would delete it with what others commit.
            if not self._path.exists():
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"{self._path} cannot be used: {error}.") from error
        try:
            with turn_at(self._path):
                found = _prepare(connection)
        except (sqlite3.Error, LedgerError) as error:
            connection.close()
            raise LedgerError(f"{self._path} cannot be used: {error}.") from error
        if found != FORMAT:
            connection.close()
            raise LedgerError(f"{self._path} has format {found}; this dither reads format {FORMAT}.")
        return connection

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Any]:
        """One transaction, on the disk when it ends if it is durable."""
        with self._lock, turn_at(self._path):
            try:
                self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path} cannot be written: {error}.") from error

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                return self._reader.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path} cannot be read: {error}.") from error

    def close(self) -> None:
        with self._lock, self._reading:
            self._connection.close()
            self._reader.close()


def _prepare(connection: sqlite3.Connection) -> int:
    """Make the tables, or bring older ones up, all at once or not at all; the format that they have then."""
    types = {"text": "TEXT", "whole": "INTEGER", "bytes": "BLOB"}
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("BEGIN IMMEDIATE")
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    steps: dict[int, Sequence[str]] = {0: TABLES, 1: (*_FROM_FORMAT_1, *_FROM_FORMAT_2), 2: _FROM_FORMAT_2}
    for statement in steps.get(found, ()):
        connection.execute(statement.format(**types) + (" STRICT" if statement.startswith("CREATE TABLE") else ""))
    if found in steps:
        connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")
    return FORMAT if found in steps else int(found)


class Postgres:
    """A schema beside the ledger's, under the same rules: durable, no pooler, no standby."""

    def __init__(self, address: str) -> None:
        from dither.ledger.storage.postgres.schema import TURN
        from dither.ledger.storage.postgres.store import PostgresStore

        types = {"text": "TEXT", "whole": "BIGINT", "bytes": "BYTEA"}
        self._store, self._reader = PostgresStore(address, SPACE), PostgresStore(address, SPACE)
        self._store.make_space(*TURN)
        with self._store.transaction(write=True) as connection:
            if not connection.has("format"):
                for statement in (*TABLES, "CREATE TABLE format (version {whole} NOT NULL)"):
                    connection.execute(statement.format(**types))
                connection.execute("INSERT INTO format VALUES (?)", (FORMAT,))
            found = connection.execute("SELECT version FROM format").fetchall()
            if found == [(2,)]:
                for statement in (*_FROM_FORMAT_2, f"UPDATE format SET version = {FORMAT}"):
                    connection.execute(statement.format(**types))
                found = [(FORMAT,)]
        if found != [(FORMAT,)]:
            self.close()
            raise LedgerError(f"the server's tables in {self._store.name} have another format than {FORMAT}.")

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction, on the disk when it ends if it is durable."""
        with self._store.transaction(write=True) as connection:
            if not durable:
                connection.execute("SET LOCAL synchronous_commit TO OFF")
            yield connection

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reader.transaction(write=False) as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        for store in (self._store, self._reader):
            store.stop("the server's tables are closed.")


def copy(here: Database, there: Database) -> None:
    """Everything that a server keeps; what is there already stays as it is."""
    with here.transaction() as source, there.transaction() as target:
        for table in NAMES:
            for row in source.execute(f"SELECT * FROM {table}").fetchall():
                places = ", ".join("?" for _ in row)
                target.execute(f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO NOTHING", row)


def copy_beside(folder: Path, to: str) -> None:
    """Take what a server keeps along when a ledger moves."""
    if known_address(folder) is None and not (folder / "server.sqlite").exists():
        return
    here = database_of(folder)
    there = File(folder / "server.sqlite") if to == IN_THE_FOLDER else Postgres(to)
    try:
        copy(here, there)
    finally:
        here.close()
        there.close()
