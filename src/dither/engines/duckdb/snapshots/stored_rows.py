"""The rows of a finished snapshot as they are stored, out of one file and into another: for copies between engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dither.engines.duckdb.snapshots.loading import ROWS, Settings, loading, named, stored_column
from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.engines.duckdb.snapshots.snapshot import verified
from dither.engines.load_report import LoadReport
from dither.engines.protocol import Progress
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Text
from dither.sql.lowering.statement import OWNER, RANK

_LEAST, _MOST, _BYTES = 2_048, 65_536, 64 * 2**20  # rows of a batch, and what it should take at most


def batch_rows(table: Table | PublicTable) -> int:
    """How many rows are handled at once: fewer where texts may be long."""
    columns = table.stored if isinstance(table, PublicTable) else table.columns
    widest = sum(4 * column.max_length if isinstance(column, Text) else 8 for column in columns.values())
    return max(_LEAST, min(_MOST, _BYTES // max(widest, 1)))


def columns_of(table: Table | PublicTable) -> list[str]:
    """The columns of a snapshot, in the order of its rows."""
    return list(table.stored) if isinstance(table, PublicTable) else [OWNER, *table.columns, RANK]


@contextmanager
def read_rows(snapshot: Path, table: Table | PublicTable, settings: Settings) -> Iterator[Any]:
    """An Arrow reader of all rows."""
    import duckdb

    try:
        connection = duckdb.connect(":memory:", config=settings.config())
        connection.execute(f"ATTACH {quoted(str(snapshot), mark=chr(39))} AS snapshot (READ_ONLY)").fetchall()
        rows = connection.sql(f"SELECT {named(columns_of(table))} FROM snapshot.rows")
    except duckdb.Error:
        raise PolicyError(f"the snapshot {snapshot.name} cannot be read; refresh its table.") from None
    try:
        yield rows.to_arrow_reader(batch_rows(table))
    finally:
        connection.close()


def write_rows(table: Table, rows: Any, work: Path, settings: Settings, progress: Progress | None) -> None:
    """Write rows that are ranked already to work/rows.duckdb, and read back that they are what a snapshot holds."""
    import pyarrow as pa

    kind = "BIGINT" if pa.types.is_int64(rows.schema.field(OWNER).type) else "VARCHAR"
    with loading(table.name, table.columns, work, settings, progress) as made:
        declared = [f'"{OWNER}" {kind} NOT NULL', *(stored_column(*item) for item in table.columns.items())]
        made.do(f'CREATE TABLE {ROWS} ({", ".join(declared)}, "{RANK}" INTEGER NOT NULL)')
        made.connection.register("moved", rows)
        listed = named(columns_of(table))
        made.watch("copying", 0.0, 0.9, f'INSERT INTO {ROWS} SELECT {listed} FROM moved ORDER BY "{RANK}"')
        (count,) = made.one(f"SELECT COUNT(*) FROM {ROWS}")
        # Whom a foreign key led to was found when the rows were loaded; who the owner is stands in each of them.
        verified(made, replace(table, via=None), LoadReport(count, 0, 0, {}, {}, 0))
        made.finish()
