"""DuckDB: protected snapshots as files in one folder, read by any number of worker processes at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dither.engines.duckdb.snapshots.owners import stored_type
from dither.engines.duckdb.snapshots.public_shape import stored_shape
from dither.engines.duckdb.snapshots.public_snapshot import stored_labels
from dither.engines.duckdb.snapshots.snapshot import Settings
from dither.engines.duckdb.snapshots.stored_rows import read_rows, write_rows
from dither.engines.duckdb.spill import remove_abandoned
from dither.engines.duckdb.staging import WRITTEN, working, write
from dither.engines.duckdb.wire import serialised
from dither.engines.duckdb.workers import Terms, Workers
from dither.engines.protocol import EngineError, LoadReport, Progress, Statement, StatementStopped, Stored
from dither.engines.result import bounded, candidates, dense, of_candidates, sealed
from dither.errors import PolicyError
from dither.mechanisms.keys.groups import seal_bounded_groups
from dither.mechanisms.sealed_values import Exact, SealedTable
from dither.policy.catalog import PublicTable, Table
from dither.policy.limits import Limits
from dither.policy.shape import Shape
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.statement import CANDIDATES, TwoSteps, schema_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_Result = TypeVar("_Result")


class DuckDBEngine:
    """Holds snapshots; a statement returns exact integers, sealed. No message ever contains data.

    Statements run in worker processes, within the limits in force when they are asked. Snapshots are loaded in process.
    """

    dialect: Dialect = DUCKDB
    stores = True

    def __init__(
        self,
        folder: Path,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        limits: Callable[[], Limits] = Limits,
    ) -> None:
        self._folder, self._settings, self._limits = Path(folder), Settings(threads, memory_limit), limits
        self._workers = Workers(self._folder, self._terms, lambda: limits().workers)
        remove_abandoned(self._folder)

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
        found_in = None if parent is None else self._path(parent)
        with working(self._folder) as work:
            target = self._free(table)
            settings, told = self._settings, {"strict": strict, "progress": progress}
            report = write(work, table, source, settings=settings, parent=found_in, **told)  # type: ignore[arg-type]
            _publish(work / WRITTEN, target)
        return report

    def store(self, table: Table | PublicTable, rows: Any, progress: Progress | None = None) -> None:
        """Keep the rows of a finished snapshot; every public table is here already, so none is stored."""
        if isinstance(table, PublicTable):
            raise PolicyError(f"public table {table.name!r} is loaded here, and copied from here.")
        with working(self._folder) as work:
            target = self._free(table)
            write_rows(table, rows, work, self._settings, progress)
            _publish(work / WRITTEN, target)

    def rows(self, table: Table | PublicTable) -> AbstractContextManager[Any]:
        """An Arrow reader of a snapshot as it is stored."""
        return read_rows(self._path(table), table, self._settings)

    def owner_type(self, table: Table) -> str:
        """How the table's snapshot stores owners: BIGINT or VARCHAR."""
        return stored_type(self._path(table), self._settings)

    def labels(self, table: PublicTable) -> dict[str, tuple[str, ...]]:
        """The values of the text columns that a public table's snapshot has listed."""
        return stored_labels(self._path(table), table, self._settings)

    def shape(self, table: PublicTable) -> Shape:
        """How the rows of a public table's snapshot lie."""
        return stored_shape(self._path(table), table, self._settings)

    def has(self, table: Table | PublicTable) -> bool:
        """Whether the table's snapshot is here."""
        return self._path(table).is_file()

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """How the table's snapshot lies here."""
        with suppress(FileNotFoundError):
            found = self._path(table).stat()
            return Stored(found.st_size, int(found.st_mtime))
        return None

    def drop(self, table: Table | PublicTable) -> None:
        """Delete the table's snapshot. A statement that is reading it finishes on what it reads; then it is gone."""
        self._path(table).unlink(missing_ok=True)
        remove_abandoned(self._folder)

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete the snapshots of all other tables: copies that a killed load or refresh left behind."""
        kept = {self._path(table) for table in tables}
        for path in self._folder.glob("*.duckdb"):
            if path not in kept:
                path.unlink(missing_ok=True)
        remove_abandoned(self._folder)

    # Statements

    def warm(self) -> None:
        """Have a worker start while the question is still read and priced."""
        self._workers.warm()

    def slot(self, analyst: str | None = None, patience: float | None = None) -> AbstractContextManager[object]:
        """A worker for this thread's statements; Busy if the analyst gets none, unless the question has its place."""
        return self._workers.slot(analyst, self._limits().patience(patience))

    def charge_ahead(self, times: int) -> None:
        """From now on as many questions as `times` the workers may be charged at once, and wait for one after that."""
        self._workers.charge_ahead(times)

    def place(self, analyst: str | None = None) -> AbstractContextManager[object]:
        """What a question has before it is charged: a worker, or a place among those who get one next; or Busy."""
        return self._workers.place(analyst, self._limits().patience())

    def run(self, statement: Statement) -> list[Exact]:
        """Exact integers of every public group, one sealed array a measure.

        Whatever fails is the same EngineError; StatementStopped, one of them, if the statement took too much.
        """
        return _sealed_off(lambda: self._measure(statement))

    def listed(self, statement: Statement) -> npt.NDArray[np.bool_]:
        """Which groups have a row, in the clear: no table of the statement has owners, and it reads no other."""
        if not all(isinstance(table, PublicTable) for table in statement.tables):
            raise PolicyError("only groups of public tables are listed.")
        (counts,) = _sealed_off(lambda: dense(self._table(statement, statement.sql), statement.keys, 1))
        found: npt.NDArray[np.bool_] = counts > 0
        return found

    def public_rows(self, table: PublicTable) -> Any:
        """The stored rows of a public table, which has no owners."""
        if not isinstance(table, PublicTable):
            raise PolicyError("only rows of public tables are read.")
        names = ", ".join(DUCKDB.name(name) for name in table.columns)
        asked = {"sql": f"SELECT {names} FROM {DUCKDB.rows(table)}", "places": self._places([table]), "tables": []}

        def read() -> Any:
            with self._workers.slot() as process:
                return process.ask(asked, [])

        return _sealed_off(read)

    def close(self) -> None:
        """End the workers; the next statement starts its own again."""
        self._workers.close()

    def _measure(self, statement: Statement) -> list[Exact]:
        if statement.steps is not None:
            return [self._in_two_steps(statement, statement.steps)]
        return sealed(self._table(statement, statement.sql), statement)

    def _in_two_steps(self, statement: Statement, steps: TwoSteps) -> SealedTable:
        """The keys with an upper bound of their first measure; whoever opens them says which are looked at closely."""
        keys, most = bounded(self._table(statement, steps.bounds), len(statement.keys))

        def look(places: npt.NDArray[np.intp]) -> tuple[npt.NDArray[Any], ...]:
            near = candidates(keys, places)
            found = _sealed_off(lambda: self._table(statement, steps.measures, near))
            return of_candidates(found, len(places), statement.measures)

        return seal_bounded_groups(keys, most, look)

    def _table(self, statement: Statement, sql: str, near: Any = None) -> Any:
        asked = {"sql": sql, "places": self._places(statement.tables), "tables": [] if near is None else [CANDIDATES]}
        with self._workers.slot() as process:
            return process.ask(asked, [] if near is None else [serialised(near)])

    def _places(self, tables: Iterable[Table | PublicTable]) -> list[tuple[str, str]]:
        return [(schema_name(table), str(self._path(table).absolute())) for table in tables]

    def compute(self, sql: str, tables: Mapping[str, Any], most: int) -> Any:
        """The result of a query over these Arrow tables, in a worker with no snapshot open and no file in reach.

        At most so many bytes of it leave the worker. EngineError, with the engine's own words: there are no data here
        that they could quote but those given.
        """
        with self._workers.slot() as process:
            asked = {"sql": sql, "places": [], "tables": list(tables), "most": most}
            return process.ask(asked, [serialised(table) for table in tables.values()])

    def _terms(self) -> Terms:
        """Half of a statement's memory is for what the engine keeps count of; beyond that it spills."""
        limits = self._limits()
        config: dict[str, Any] = {"memory_limit": f"{limits.statement_memory // 2}B", **self._settings.config()}
        return Terms(limits.statement_memory, limits.statement_seconds, config, f"{2 * limits.statement_memory}B")

    def _path(self, table: Table | PublicTable) -> Path:
        if not _NAME.fullmatch(table.name):
            raise PolicyError(f"a table name starts with a letter and has letters, digits and _; got {table.name!r}.")
        return self._folder / f"{table.name.lower()}-{table.snapshot:06d}.duckdb"

    def _free(self, table: Table | PublicTable) -> Path:
        """Where the table's snapshot will be, if there is none yet."""
        target = self._path(table)
        if target.exists():
            raise PolicyError(
                f"table {table.name!r} has a snapshot {table.snapshot} already; a snapshot never changes."
            )
        return target


def _sealed_off(work: Callable[[], _Result]) -> _Result:
    stopped = False
    try:
        return work()
    except StatementStopped:
        stopped = True
    except Exception:  # noqa: BLE001 - the engine's own text may quote data
        pass
    # Raised here and not where it failed: an exception remembers the one it was raised beside.
    raise StatementStopped if stopped else EngineError


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
