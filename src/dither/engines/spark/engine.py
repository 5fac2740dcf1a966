"""Spark: protected snapshots in a warehouse, and statements run by the application that was handed in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dither.engines.duckdb.snapshots.loading import Settings
from dither.engines.duckdb.snapshots.rank import secret_key
from dither.engines.duckdb.snapshots.stored_rows import read_rows, write_rows
from dither.engines.duckdb.staging import WRITTEN, working
from dither.engines.duckdb.staging import write as write_staged
from dither.engines.duckdb.workers import Pool
from dither.engines.protocol import LoadReport, Progress, Statement, Stored
from dither.engines.result import sealed
from dither.engines.spark.session import is_frame, own_session
from dither.engines.spark.snapshot import Load
from dither.engines.spark.statements import Turn, sealed_off
from dither.engines.spark.verification import verify, verify_public
from dither.engines.spark.warehouse import Warehouse, described, stored_columns, write
from dither.errors import DitherError, PolicyError
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import PublicTable, Table
from dither.policy.limits import Limits
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER, schema_name

_Result = TypeVar("_Result")
_CHUNK = 2**20  # rows that are handed to Spark at a time


class SparkEngine:
    """Holds snapshots; a statement returns exact integers, sealed. No message ever contains data.

    `session` belongs to whoever handed it in: statements run in a session of their own of the same application.
    `folder` has the key of ranks, and is where local sources are made into snapshots before Spark stores them.
    """

    dialect: Dialect = SPARK
    stores = True

    def __init__(
        self, session: Any, warehouse: Path | str, folder: Path, *, limits: Callable[[], Limits] = Limits
    ) -> None:
        self._session, self._folder = own_session(session), Path(folder)
        if "://" in str(warehouse):
            raise PolicyError("a warehouse is a folder that this process and all executors see by the same path.")
        self._warehouse = Warehouse(Path(warehouse))
        self._limits = limits
        self._turns = Pool(self._turn, lambda: limits().statement_seconds, lambda: limits().workers)

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
        """Make a snapshot of a DataFrame in Spark, of any other source here. If anything fails, nothing is left."""
        if parent is not None and not self.has(parent):
            raise PolicyError(f"the snapshot of {parent.name!r} is missing; refresh that table first.")
        if not is_frame(source):
            return self._load_local(table, source, strict, progress, parent)

        def make(work: Path) -> LoadReport:
            session = own_session(self._session)
            found_in, kind = "", ""
            if parent is not None:
                found_in, kind = self.dialect.rows(parent), self.owner_type(parent)
                self._view(session, parent)
            with working(self._folder):  # which makes the folder
                key = secret_key(self._folder / "rank.key")
            report, rows = Load(session, table, work, key, strict, progress, found_in, kind).run(source)
            self._warehouse.publish(rows, table)
            return report

        return self._loading(table, make)

    def _load_local(
        self, table: Table, source: Any, strict: bool, progress: Progress | None, parent: Table | None
    ) -> LoadReport:
        with working(self._folder) as work:
            found_in = None
            if parent is not None:
                with working(self._folder) as beside, self.rows(parent) as rows:
                    write_rows(parent, rows, beside, Settings(), None)
                    found_in = (beside / WRITTEN).rename(work / "parent.duckdb")
            settings = Settings()
            report = write_staged(
                work, table, source, settings=settings, strict=strict, progress=progress, parent=found_in
            )
            with read_rows(work / WRITTEN, table, settings) as rows:
                self.store(table, rows, progress)
        return report

    def store(self, table: Table | PublicTable, rows: Any, progress: Progress | None = None) -> None:
        """Keep the rows of a finished snapshot, in parts that memory holds, and read back that they are all there."""
        import pyarrow as pa

        numbers = isinstance(table, PublicTable) or pa.types.is_int64(rows.schema.field(OWNER).type)
        columns = stored_columns(table, "BIGINT" if numbers else "VARCHAR")

        def make(work: Path) -> None:
            session, count = own_session(self._session), 0
            for part in _parts(rows, _CHUNK):
                frame = session.createDataFrame(part.select(list(columns)), described(columns))
                write(frame.coalesce(1), work / "rows", append=True)
                count += part.num_rows
                if progress is not None:
                    progress("copying", 0.9)
            read = session.read.schema(described(columns)).parquet(str(work / "rows"))
            read.createOrReplaceTempView("written")

            def one(sql: str) -> tuple[Any, ...]:
                (found,) = session.sql(sql).toArrow().to_pylist()
                return tuple(found.values())

            if isinstance(table, PublicTable):
                verify_public(one, table, "written", count)
            else:
                verify(one, table, "written", count)
            self._warehouse.publish(work / "rows", table)

        self._loading(table, make)

    @contextmanager
    def rows(self, table: Table | PublicTable) -> Iterator[Any]:
        """An Arrow reader of a snapshot as it is stored: its files are in reach, so Spark has no part in it."""
        yield self._warehouse.dataset(table).scanner().to_reader()

    def owner_type(self, table: Table) -> str:
        """How the table's snapshot stores owners: BIGINT or VARCHAR."""
        import pyarrow as pa

        stored = self._warehouse.dataset(table).schema.field(OWNER).type
        return "BIGINT" if pa.types.is_int64(stored) else "VARCHAR"

    def has(self, table: Table | PublicTable) -> bool:
        """Whether the table's snapshot is here."""
        return self._warehouse.has(table)

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """How the table's snapshot lies here."""
        return self._warehouse.stored(table)

    def drop(self, table: Table | PublicTable) -> None:
        """Delete the table's snapshot."""
        self._session.catalog.dropTempView(_view_name(table))
        self._warehouse.drop(table)

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete the snapshots of all other tables: copies that a killed load or refresh left behind."""
        self._warehouse.keep_only(tables)

    def _loading(self, table: Table | PublicTable, make: Callable[[Path], _Result]) -> _Result:
        """What is made in a folder of its own. What fails says nothing of why: an engine's own words may quote data."""
        try:
            with self._warehouse.working(table) as work:
                return make(work)
        except DitherError:
            raise
        except Exception:  # noqa: BLE001
            pass
        raise PolicyError(
            f"table {table.name!r} could not be copied (a source that cannot be read, executors without dither or too "
            "few of them, a full disk); nothing was stored."
        )

    # Statements

    def warm(self) -> None:
        """The application runs already."""

    def slot(self, analyst: str | None = None, patience: float | None = None) -> AbstractContextManager[Turn]:
        """Leave for this thread's statements to run at once; refused if the application has ended."""
        return self._turns.slot(analyst, self._limits().patience(patience))

    def charge_ahead(self, times: int) -> None:
        """From now on as many questions as `times` the slots may be charged at once, and wait for one after that."""
        self._turns.charge_ahead(times)

    def place(self, analyst: str | None = None) -> AbstractContextManager[object]:
        """What a question has before it is charged: a slot, or a place among those who get one next; or Busy."""
        return self._turns.place(analyst, self._limits().patience())

    def run(self, statement: Statement) -> list[Exact]:
        """Exact integers of every public group, one sealed array a measure.

        Whatever fails is the same EngineError; StatementStopped, one of them, if the statement took too much. Spark
        counts owners of many keys by its own shuffle, so a statement in two steps is run in one.
        """
        with self.slot() as turn:
            return sealed_off(lambda: sealed(self._table(turn, statement), statement))

    def close(self) -> None:
        """The application belongs to whoever handed it in."""
        self._turns.close()

    def _turn(self, seconds: int) -> Turn:
        return Turn(self._session, seconds)

    def _table(self, turn: Turn, statement: Statement) -> Any:
        self._views(statement)
        return turn.table(statement.sql)

    def _views(self, statement: Statement) -> None:
        for table in statement.tables:
            if not self._session.catalog.tableExists(_view_name(table)):
                self._view(self._session, table)

    def _view(self, session: Any, table: Table | PublicTable) -> None:
        self._frame(session, table).createOrReplaceTempView(_view_name(table))

    def _frame(self, session: Any, table: Table | PublicTable) -> Any:
        kind = "" if isinstance(table, PublicTable) else table.owner_type or self.owner_type(table)
        schema = described(stored_columns(table, kind))
        return session.read.schema(schema).parquet(str(self._warehouse.path(table)))


def _view_name(table: Table | PublicTable) -> str:
    return f"{schema_name(table)}_{table.snapshot:06d}"


def _parts(reader: Any, most: int) -> Iterator[Any]:
    """The batches of a reader together, so many rows at a time; at least one part."""
    import pyarrow as pa

    held, count, some = [], 0, False
    for batch in reader:
        held.append(batch)
        count += batch.num_rows
        if count >= most:
            yield pa.Table.from_batches(held, reader.schema)
            held, count, some = [], 0, True
    if held or not some:
        yield pa.Table.from_batches(held, reader.schema)
