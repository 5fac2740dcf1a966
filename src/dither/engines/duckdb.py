"""DuckDB: protected snapshots as files in one folder, read in process, by any number of processes at once."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dither.engines.owners import stored_type
from dither.engines.protocol import EngineError, LoadReport, Progress, Statement
from dither.engines.public import write_public
from dither.engines.rank import secret_key
from dither.engines.result import bounded, candidates, of_candidates, sealed
from dither.engines.snapshot import Settings, write_snapshot
from dither.errors import PolicyError
from dither.lazy import importing
from dither.mechanisms.exact import Exact, SealedTable
from dither.mechanisms.groups import seal_bounded_groups
from dither.sql.catalog import PublicTable, Table
from dither.sql.statement import CANDIDATES, TwoSteps, schema_name

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORK = ".loading-"
MOST_OPEN = 8  # sets of tables
_Result = TypeVar("_Result")
Places = tuple[tuple[str, Path], ...]  # what generated SQL calls each snapshot, and its file


class DuckDBEngine:
    """Holds snapshots; a statement returns exact integers, sealed. No message ever contains data.

    The connection that runs statements can only read its one snapshot: the file is attached read-only, every other
    file, network and extension is out of reach, and the configuration is locked.
    """

    def __init__(self, folder: Path, *, threads: int | None = None, memory_limit: str | None = None) -> None:
        self._folder, self._settings = Path(folder), Settings(threads, memory_limit)
        self._open: dict[Places, duckdb.DuckDBPyConnection] = {}
        self._idle = threading.Condition()
        self._running = 0
        _engines.add(self)

    # Snapshots

    def load(
        self,
        table: Table | PublicTable,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport:
        """Copy the source into a protected snapshot. If anything fails, nothing is left behind.

        `parent` is the table in whose current snapshot a foreign key finds the owners of rows.
        """
        target = self._path(table)
        self._prepare_folder()
        if target.exists():
            raise PolicyError(
                f"table {table.name!r} has a snapshot {table.snapshot} already; a snapshot never changes."
            )
        key = secret_key(self._folder / "rank.key")
        work = Path(tempfile.mkdtemp(prefix=_WORK, dir=self._folder))
        with open(work / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                named: dict[str, Any] = {"settings": self._settings, "strict": strict, "progress": progress}
                if isinstance(table, PublicTable):
                    report = write_public(table, source, work, **named)
                else:
                    found_in = None if parent is None else self._path(parent)
                    report = write_snapshot(table, source, work, key=key, parent=found_in, **named)
                _publish(work / "rows.duckdb", target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        return report

    def owner_type(self, table: Table) -> str:
        """How the table's snapshot stores owners: BIGINT or VARCHAR."""
        return stored_type(self._path(table), self._settings)

    def has(self, table: Table | PublicTable) -> bool:
        """Whether the table's snapshot is here."""
        return self._path(table).is_file()

    def drop(self, table: Table | PublicTable) -> None:
        """Delete the table's snapshot. A statement that is reading it finishes on what it reads."""
        self._delete(self._path(table))

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete the snapshots of all other tables: copies that a killed load or refresh left behind."""
        kept = {self._path(table) for table in tables}
        for path in self._folder.glob("*.duckdb"):
            if path not in kept:
                self._delete(path)

    def _delete(self, path: Path) -> None:
        with self._idle:
            for reading in [known for known in self._open if path in (place for _, place in known)]:
                del self._open[reading]
        path.unlink(missing_ok=True)

    # Statements

    def run(self, statement: Statement) -> list[Exact]:
        """Exact integers of every public group, one sealed array a measure. Whatever fails is the same EngineError."""
        return self._sealed_off(lambda: self._measure(statement))

    def _sealed_off(self, work: Callable[[], _Result]) -> _Result:
        with self._idle:
            self._running += 1
        try:
            with suppress(Exception):  # the engine's own text may quote data
                return work()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
        # Raised here and not where it failed: an exception remembers the one it was raised beside.
        raise EngineError

    def close(self) -> None:
        """Let go of all open snapshots; the next statement opens its own again."""
        with self._idle:
            self._open = {}

    def _measure(self, statement: Statement) -> list[Exact]:
        if statement.steps is not None:
            return [self._in_two_steps(statement, statement.steps)]
        return sealed(self._table(statement, statement.sql), statement)

    def _in_two_steps(self, statement: Statement, steps: TwoSteps) -> SealedTable:
        """The keys with an upper bound of their first measure; whoever opens them says which are looked at closely."""
        keys, most = bounded(self._table(statement, steps.bounds), len(statement.keys))

        def look(places: npt.NDArray[np.intp]) -> tuple[npt.NDArray[Any], ...]:
            near = candidates(keys, places)
            found = self._sealed_off(lambda: self._table(statement, steps.measures, near))
            return of_candidates(found, len(places), statement.measures)

        return seal_bounded_groups(keys, most, look)

    def _table(self, statement: Statement, sql: str, near: Any = None) -> Any:
        cursor = self._cursor(tuple((schema_name(table), self._path(table)) for table in statement.tables))
        try:
            if near is not None:
                cursor.register(CANDIDATES, near)  # in this cursor's own temporary schema
            return cursor.sql(sql).to_arrow_table()
        finally:
            cursor.close()

    def _cursor(self, places: Places) -> duckdb.DuckDBPyConnection:
        """A cursor on these snapshots and nothing else.

        Every set of tables has a database of its own, with threads of its own, so only the last few stay open. The
        others are let go of and never closed: closing would end the cursors of statements that still run, while a
        database that is let go of lasts as long as they do.
        """
        with self._idle:
            if places not in self._open:
                for gone in [known for known in self._open if not all(path.exists() for _, path in known)]:
                    del self._open[gone]  # another process dropped it
                while len(self._open) >= MOST_OPEN:
                    del self._open[next(iter(self._open))]
                self._open[places] = _read_only(places, self._settings)
            self._open[places] = self._open.pop(places)  # the last one used
            return self._open[places].cursor()

    def _path(self, table: Table | PublicTable) -> Path:
        if not _NAME.fullmatch(table.name):
            raise PolicyError(f"a table name starts with a letter and has letters, digits and _; got {table.name!r}.")
        return self._folder / f"{table.name.lower()}-{table.snapshot:06d}.duckdb"

    def _prepare_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
        except OSError as error:
            raise PolicyError(f"the snapshot folder {self._folder} cannot be used: {error.strerror}.") from None
        for left in self._folder.glob(f"{_WORK}*"):
            _remove_if_abandoned(left)

    # Forks: the engine's threads do not survive one, so nothing may be open across it.

    def _before_fork(self) -> None:
        self._idle.acquire()
        self._idle.wait_for(lambda: self._running == 0)
        for connection in self._open.values():
            connection.close()
        self._open = {}

    def _after_fork(self) -> None:
        self._idle.release()


def _read_only(places: Places, settings: Settings) -> duckdb.DuckDBPyConnection:
    with importing():
        import duckdb
        import pyarrow  # noqa: F401 - what results come in

    connection = duckdb.connect(":memory:", config=settings.config())
    spill = _quoted(places[0][1].parent / ".spill")
    attached = (f"ATTACH '{_quoted(path)}' AS \"{schema}\" (READ_ONLY)" for schema, path in places)
    for sql in (
        *attached,
        f"SET temp_directory = '{spill}'",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(sql).fetchall()
    return connection


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _publish(written: Path, target: Path) -> None:
    """Durable before it is visible, and visible whole or not at all."""
    written.chmod(0o600)
    _sync(written)
    os.rename(written, target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_if_abandoned(work: Path) -> None:
    """Remove what a killed load left; one that still runs holds its lock."""
    try:
        with open(work / "lock", "r+", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(work, ignore_errors=True)
    except OSError:
        return


_engines: weakref.WeakSet[DuckDBEngine] = weakref.WeakSet()
_held: list[DuckDBEngine] = []


def _hold() -> None:
    _held[:] = list(_engines)
    for engine in _held:
        engine._before_fork()


def _let_go() -> None:
    for engine in _held:
        engine._after_fork()
    _held.clear()


os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
