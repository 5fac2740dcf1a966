"""A PostgreSQL database as a store: row locks between writers, a consistent snapshot for readers, commits that stay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.storage import forks
from dither.ledger.storage.postgres.schema import SCHEMA
from dither.ledger.storage.postgres.session import Session
from dither.ledger.storage.protocol import LedgerAway

WHY = {
    "08": "cannot be reached",
    "25": "takes no changes now",
    "26": "is behind a connection pooler",
    "28": "lets nobody of that name and password in",
    "3D": "has no database of that name",
    "40": "was in use by others at the same time",
    "42501": "does not let this user do that",
    "53": "has no room or no connections left",
    "55": "is in use by another process that does not let go",
    "57": "is being stopped or started",
    "58": "reports an error of its disk",
}


def named(address: str) -> str:
    """A database for messages: never the password."""
    try:
        found = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise LedgerError("the address of the ledger is none of PostgreSQL: postgresql://HOST/DATABASE.") from None
    return f"{found.get('dbname') or 'its database'} on {found.get('host') or 'this machine'}"


class PostgresStore:
    """A database whose transactions are durable when they end, usable from several threads and across forks."""

    def __init__(self, address: str, space: str = SCHEMA) -> None:
        self.address, self.space, self.name = address, space, named(address)
        self._lock = threading.RLock()
        self._session: Session | None = None
        self._stopped = ""
        forks.watch(self)

    def __del__(self) -> None:
        if hasattr(self, "_session"):
            self._disconnect()

    def transaction(self, *, write: bool) -> AbstractContextManager[Session]:
        """One atomic transaction; a writing one holds the write lock of all processes from its beginning.

        An error inside undoes it. If the server dies while it commits, it may have done so: whoever asks again under
        the same request id learns it.
        """
        return self._transaction("write" if write else "read")

    def adding(self) -> AbstractContextManager[Session]:
        """A transaction that waits for no turn: of rows that are only ever added, or locked one by one."""
        return self._transaction("add")

    def turn(self) -> AbstractContextManager[Session]:
        """The write lock of all processes for as long as this lasts, by somebody who changes nothing here."""
        return self._transaction("turn")

    @contextmanager
    def _transaction(self, how: str) -> Iterator[Session]:
        with self._lock, self._translated():
            session = self._connect()
            ended = False
            try:
                session.begin(how)
                yield session
                session.raw.execute("COMMIT")
                ended = True
            finally:
                if not ended:
                    self._undo(session)
                if self._stopped:
                    self._disconnect()

    def _undo(self, session: Session) -> None:
        try:
            session.raw.execute("ROLLBACK")
        except psycopg.Error:
            self._disconnect()  # the server undoes what nobody commits

    def stop(self, reason: str) -> None:
        """Serve nothing more from this object."""
        with self._lock:
            self._stopped = reason
            if self._session is None or self._session.raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                self._disconnect()

    def cluster(self) -> int:
        """Which cluster this database is in."""
        with self.transaction(write=False) as session:
            return session.cluster()

    def make_space(self, *statements: str) -> None:
        """The schema and what must be there before the first turn; leaves alone what is there."""
        with self._lock, self._translated():
            session = self._connect()
            with session.raw.transaction():
                session.raw.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self.space,))
                session.raw.execute(f"CREATE SCHEMA IF NOT EXISTS {self.space}")
                session.raw.execute(f"REVOKE ALL ON SCHEMA {self.space} FROM PUBLIC")
                for statement in statements:
                    session.raw.execute(statement)

    def has(self, table: str) -> bool:
        """Whether there is such a table."""
        with self.transaction(write=False) as session:
            return session.has(table)

    def _connect(self) -> Session:
        if self._stopped:
            raise LedgerError(self._stopped)
        if self._session is not None and self._session.raw.closed:
            self._session = None
        if self._session is None:
            self._session = Session(self.address, self.space)
        return self._session

    def _disconnect(self) -> None:
        if self._session is not None:
            self._session.raw.close()
            self._session = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            raise LedgerCorrupt(f"the ledger {self.name} is damaged; nothing is served from it.") from error
        except psycopg.Error as error:
            # Its own words may quote rows.
            lost = self._session is None or self._session.raw.broken
            self._disconnect()
            code = error.sqlstate or ("08000" if lost or isinstance(error, psycopg.OperationalError) else "")
            why = WHY.get(code) or WHY.get(code[:2])
            if why is None:
                raise LedgerCorrupt(f"the ledger {self.name} is damaged ({code}); nothing is served from it.") from None
            kind = LedgerAway if code[:2] in ("08", "57") else LedgerError
            raise kind(f"the ledger {self.name} {why}; nothing was returned.") from None
