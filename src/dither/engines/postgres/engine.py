"""PostgreSQL: protected snapshots as tables of a schema of ours, read in transactions that can change nothing."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg

from dither.engines.duckdb.snapshots.loading import Settings
from dither.engines.duckdb.snapshots.rank import secret_key
from dither.engines.duckdb.snapshots.stored_rows import read_rows, write_rows
from dither.engines.duckdb.staging import WRITTEN, working, write
from dither.engines.duckdb.workers import Pool
from dither.engines.postgres.place import Place
from dither.engines.postgres.session import Session, Terms
from dither.engines.postgres.snapshots import Snapshots
from dither.engines.protocol import EngineError, LoadReport, Progress, Statement, StatementStopped, Stored
from dither.engines.result import sealed
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import PublicTable, Table
from dither.policy.limits import Limits
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.postgresql_dialect import POSTGRESQL

_STAGED = 0.7  # of the progress of a load


class PostgresEngine:
    """Holds snapshots in a PostgreSQL database; a statement returns exact integers, sealed. No message contains data.

    Records are sanitised, ranked and verified in this process, in a file of DuckDB's that is removed afterwards.
    """

    dialect: Dialect = POSTGRESQL
    stores = True
    session: type[Session] = Session

    def __init__(self, folder: Path, settings: Place, *, limits: Callable[[], Limits] = Limits) -> None:
        self._folder, self._limits = Path(folder), limits
        self._snapshots = Snapshots(settings, self._mark)
        self._sessions = Pool[Session](
            self.session,
            lambda: Terms(settings, limits().statement_seconds, limits().statement_memory),
            lambda: limits().workers,
        )

    def _mark(self) -> str:
        """What tells the schema of this folder from others': a digest of its key, from which nobody finds the key."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = secret_key(self._folder / "rank.key")
        return hmac.digest(key.encode(), b"schema in PostgreSQL", "sha256").hex()[:32]

    # Snapshots

    def load(
        self,
        table: Table,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport:
        """Sanitise, rank and verify the source, copy the result. If anything fails, nothing is left behind."""
        POSTGRESQL.rows(table)  # a name that is too long is refused before anything is read
        settings = Settings()
        with working(self._folder) as work:
            found_in = None
            if parent is not None:
                (work / "parent").mkdir()
                with self.rows(parent) as rows:
                    write_rows(parent, rows, work / "parent", settings, None)
                found_in = work / "parent" / WRITTEN
            early, late = _part(progress, 0, _STAGED), _part(progress, _STAGED, 1)
            report = write(work, table, source, settings=settings, strict=strict, progress=early, parent=found_in)
            with read_rows(work / WRITTEN, table, settings) as rows:
                self._snapshots.store(table, rows, report.rows, late)
        return report

    def store(self, table: Table | PublicTable, rows: Any, progress: Progress | None = None) -> None:
        """Keep the rows of a finished snapshot."""
        self._snapshots.store(table, rows, None, progress)

    def rows(self, table: Table | PublicTable) -> AbstractContextManager[Any]:
        """An Arrow reader of a snapshot as it is stored."""
        return self._snapshots.rows(table)

    def owner_type(self, table: Table) -> str:
        """How the table's snapshot stores owners: BIGINT or VARCHAR."""
        with self._sessions.slot() as session:
            found = session.one(
                "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = to_regclass(%s) "
                "AND attname = '_owner'",
                (POSTGRESQL.rows(table),),
            )
        return "BIGINT" if found == "bigint" else "VARCHAR"

    def has(self, table: Table | PublicTable) -> bool:
        """Whether the table's snapshot is here; PolicyError if the server is away."""
        with self._sessions.slot() as session:
            return bool(session.one("SELECT to_regclass(%s) IS NOT NULL", (POSTGRESQL.rows(table),)))

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """How the table's snapshot lies here."""
        with self._sessions.slot() as session:
            size = session.one("SELECT pg_total_relation_size(to_regclass(%s))", (POSTGRESQL.rows(table),))
        return None if size is None else Stored(int(size))

    def drop(self, table: Table | PublicTable) -> None:
        """Delete the table's snapshot, once nobody reads it."""
        self._snapshots.drop(table)

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete the snapshots of all other tables: copies that a killed load or move left behind."""
        self._snapshots.keep_only(tables)

    # Statements

    def warm(self) -> None:
        """Connections are made when they are needed, and kept."""

    def slot(self, analyst: str | None = None, patience: float | None = None) -> AbstractContextManager[object]:
        """A connection for this thread's statements; Busy if the analyst gets none, unless the question has a place."""
        return self._sessions.slot(analyst, self._limits().patience(patience))

    def charge_ahead(self, times: int) -> None:
        """From now on as many questions as `times` the connections may be charged at once, and wait after that."""
        self._sessions.charge_ahead(times)

    def place(self, analyst: str | None = None) -> AbstractContextManager[object]:
        """What a question has before it is charged: a connection, or a place among those who get one next; or Busy."""
        return self._sessions.place(analyst, self._limits().patience())

    def run(self, statement: Statement) -> list[Exact]:
        """Exact integers of every public group, one sealed array a measure. Whatever fails is the same EngineError."""
        stopped = False
        try:
            with self._sessions.slot() as session:
                return sealed(self._asked(session, statement), statement)
        except (StatementStopped, psycopg.OperationalError):
            stopped = True
        except Exception:  # noqa: BLE001 - the engine's own text may quote data
            pass
        # Raised here and not where it failed: an exception remembers the one it was raised beside.
        raise StatementStopped if stopped else EngineError

    def _asked(self, session: Session, statement: Statement) -> Any:
        return session.ask(statement.sql)

    def close(self) -> None:
        """Close the connections; the next statement makes its own again."""
        self._sessions.close()


def _part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """A part of a longer way."""
    if progress is None:
        return None
    return lambda what, done: progress(what, start + (end - start) * done)
