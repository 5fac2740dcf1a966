"""The SQLite file: one connection a process, durable commits, and errors that say what to do."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from dither.errors import DitherError, LedgerCorrupt, LedgerError
from dither.ledger.storage import forks, schema
from dither.ledger.storage.protocol import Connection
from dither.ledger.storage.turn import turn_at

_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables
_WAIT_SECONDS = 60.0

# Read back after setting: a build or file system that ignores one of these is refused.
_SETTINGS = {
    "synchronous": 2,  # FULL: every commit is synced before it is visible
    "fullfsync": 1,
    "checkpoint_fullfsync": 1,
    "cell_size_check": 1,
    "foreign_keys": 1,
    "trusted_schema": 0,
}

_WHY = {
    sqlite3.SQLITE_BUSY: "is in use by another process that does not let go",
    sqlite3.SQLITE_PROTOCOL: "is in use by too many processes at once",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_AUTH: "may not be opened",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
    sqlite3.SQLITE_NOMEM: "cannot be read: out of memory",
}


class File(sqlite3.Connection):
    """A connection that knows the tables which must be there."""

    def has_tables(self) -> bool:
        """Whether anything was ever made in this file."""
        return bool(self.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])

    def make_tables(self) -> None:
        """All tables, within the caller's transaction."""
        for statement in schema.STATEMENTS:
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        self.execute(f"PRAGMA user_version = {schema.LAYOUT}")

    def older_layout(self) -> int:
        """The number of an older layout if these are its tables, just as they were made; 0 otherwise."""
        application, layout = self._header()
        made = sorted(schema.OLDER.get(layout, ()))
        return layout if made and (application, self._statements()) == (schema.APPLICATION, made) else 0

    def change_tables(self, layout: int) -> None:
        """From that layout to ours, within the caller's transaction."""
        for step in range(layout, schema.LAYOUT):
            for statement in schema.STEPS[step]:
                self.execute(statement)
        self.execute(f"PRAGMA user_version = {schema.LAYOUT}")

    def check_tables(self) -> None:
        """Refuse a newer layout, and any table, index or trigger that differs from ours."""
        application, layout = self._header()
        if layout > schema.LAYOUT:
            raise LedgerError(f"the ledger has layout {layout}, made by a newer dither; upgrade dither.")
        expected = schema.APPLICATION, schema.LAYOUT, sorted(schema.STATEMENTS)
        if (application, layout, self._statements()) != expected:
            raise LedgerCorrupt("the tables of the ledger were changed.")

    def check_whole(self) -> None:
        """Refuse a file that SQLite finds inconsistent."""
        if self.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise LedgerCorrupt("SQLite finds the ledger's file inconsistent.")

    def _header(self) -> tuple[int, int]:
        (application,) = self.execute("PRAGMA application_id").fetchone()
        (layout,) = self.execute("PRAGMA user_version").fetchone()
        return int(application), int(layout)

    def _statements(self) -> list[str]:
        found = self.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
        return sorted(str(statement) for (statement,) in found)


class Store:
    """A database whose transactions are durable when they end, usable from several threads and across forks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: File | None = None
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise LedgerError(f"the ledger needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}.")
        self._stopped = ""
        forks.watch(self)

    def __del__(self) -> None:
        self._disconnect()

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[File]:
        """One atomic transaction; a writing one holds the write lock of all processes from its beginning.

        An error inside undoes it. After an error of the disk nothing more is served: what a failed sync left behind
        is unknown until the file is opened anew.
        """
        with self._lock, turn_at(self.path) if write else nullcontext(), self._translated():
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if self._stopped:
                    self._disconnect()

    def turn(self) -> AbstractContextManager[File]:
        """The write lock of all processes for as long as this lasts, by somebody who changes nothing here."""
        return self.transaction(write=True)

    def stop(self, reason: str) -> None:
        """Serve nothing more from this object."""
        with self._lock:
            self._stopped = reason
            if self._connection is not None and not self._connection.in_transaction:
                self._disconnect()

    def _connect(self) -> File:
        if self._stopped:
            raise LedgerError(self._stopped)
        if self._connection is None:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                factory=File,
            )
            try:
                _configure(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite quotes what it found in a damaged file
            raise LedgerCorrupt(f"the ledger {self.path} is damaged; nothing is served from it.") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code not in _WHY:
                raise LedgerCorrupt(
                    f"the ledger {self.path} is damaged ({error}); nothing is served from it."
                ) from error
            message = f"the ledger {self.path} {_WHY[code]}; nothing was returned."
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                self.stop(message + " Repair the disk and open the ledger again.")
            raise LedgerError(message) from error


@contextmanager
def undoing(connection: Connection) -> Iterator[None]:
    """Take back what is done inside, and nothing else of the transaction, if it is refused.

    Whatever else goes wrong undoes the whole transaction, if the database has not done so already.
    """
    connection.execute("SAVEPOINT change")
    try:
        yield
    except DitherError:
        connection.execute("ROLLBACK TO change")
        connection.execute("RELEASE change")
        raise
    connection.execute("RELEASE change")


def _configure(connection: sqlite3.Connection) -> None:
    _use_wal(connection)
    for name, value in _SETTINGS.items():
        connection.execute(f"PRAGMA {name} = {value}")
        found = connection.execute(f"PRAGMA {name}").fetchone()
        if found != (value,):
            raise LedgerError(f"SQLite does not accept {name} = {value}; charges would not be durable.")


def _use_wal(connection: sqlite3.Connection) -> None:
    # Changing the mode does not wait for locks by itself.
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not time.monotonic() < deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise LedgerError(f"SQLite keeps journal mode {mode!r} here, not WAL; put the ledger on a local disk.")
        return
