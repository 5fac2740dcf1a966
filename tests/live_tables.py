"""Live tables of a PostgreSQL cluster: records written where others write, and an engine that asks them there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

from dither.engines.postgres.live import LiveEngine

_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.float64(): "FLOAT8",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.string(): "TEXT",
    pa.timestamp("us"): "TIMESTAMP",
}


def written(cluster: Any, schema: str, name: str, records: pa.Table, database: str = "snapshots") -> str:
    """The place of a live table with these records, in place of what it was."""
    with psycopg.connect(cluster.address(database), autocommit=True) as connection:
        place = f'"{schema}"."{name}"'
        connection.execute("SET client_min_messages = error")
        connection.execute(f"DROP TABLE IF EXISTS {place}")
        columns = ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in records.schema)
        connection.execute(f"CREATE TABLE {place} ({columns})")
        with connection.cursor() as cursor, cursor.copy(f"COPY {place} FROM STDIN") as copy:
            for row in records.to_pylist():
                copy.write_row([_storable(value) for value in row.values()])
    return f"{schema}.{name}"


def _storable(value: Any) -> Any:
    """PostgreSQL has no U+0000."""
    return value.replace("\0", "\1") if isinstance(value, str) else value


class WrittenThere(LiveEngine):
    """A live engine whose sources are written into its live tables first."""

    def __init__(self, folder: Path, cluster: Any) -> None:
        self._cluster = cluster
        super().__init__(folder, cluster.live())

    def load(self, table: Any, source: Any, **stated: Any) -> Any:
        """Write, then load."""
        return super().load(table, written(self._cluster, self._settings.schema, table.name, source), **stated)
