"""A table of a PostgreSQL database as a source: one version of all its rows, as a stream of Arrow record batches.

How a column is read follows from its type alone. What Arrow might not hold, such as infinite dates, comes as text, and
is made fit record by record as all texts are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dither.engines.duckdb.sources.pandas import UNTYPED
from dither.engines.postgres.place import Place
from dither.errors import PolicyError

_BATCH = 8_192  # rows
_COLUMNS = """
SELECT attname, typname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL row_security = off",  # rows that a policy would hide are an error, not left out
)


@dataclass(frozen=True)
class PostgresTable:
    """A table or view, "schema.table" or "table"; `dsn_env` names the environment variable with the address."""

    table: str
    dsn_env: str

    def __post_init__(self) -> None:
        Place(self.dsn_env)
        if not isinstance(self.table, str) or not 1 <= len(self.table.split(".")) <= 2 or "\0" in self.table:
            raise PolicyError('a table of PostgreSQL is named "schema.table" or "table".')

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._reader().__arrow_c_stream__(requested_schema)

    def _reader(self) -> Any:
        import psycopg
        import pyarrow as pa

        address = os.environ.get(self.dsn_env, "")
        if not address:
            raise PolicyError(f"the environment variable {self.dsn_env} is not set; it has the database's address.")
        name = ".".join('"' + part.replace('"', '""') + '"' for part in self.table.split("."))
        try:
            connection = psycopg.connect(address, autocommit=True, connect_timeout=10, application_name="dither")
            cursor: Any = connection.cursor("read", binary=True)
            try:
                for statement in _BEGIN:
                    connection.execute(statement)
                found = connection.execute(_COLUMNS, (name,)).fetchall()
                listed = ", ".join(_expression(*column) for column in found)
                cursor.execute(f"SELECT {listed} FROM {name}")
            except BaseException:
                cursor.close()
                connection.close()
                raise
        except psycopg.Error as error:  # its own words may quote rows, and the address
            raise PolicyError(
                f"the table {self.table!r} of PostgreSQL cannot be read ({error.sqlstate or 'no connection'})."
            ) from None
        schema = pa.schema([_field(*column) for column in found])
        return pa.RecordBatchReader.from_batches(schema, _batches(connection, cursor, schema))


def _batches(connection: Any, cursor: Any, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    try:
        while rows := cursor.fetchmany(_BATCH):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            yield pa.record_batch(arrays, schema=schema)
    finally:
        cursor.close()
        connection.close()


def _expression(name: str, type_: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if type_ in _TYPES:
        return quoted
    return f"CAST({quoted} AT TIME ZONE 'UTC' AS TEXT)" if type_ == "timestamptz" else f"CAST({quoted} AS TEXT)"


def _field(name: str, type_: str) -> Any:
    import pyarrow as pa

    if type_ in _TYPES:
        return pa.field(name, getattr(pa, _TYPES[type_])())
    return pa.field(name, pa.string(), metadata={UNTYPED: b""} if type_ == "numeric" else None)


_TYPES = {"int2": "int64", "int4": "int64", "int8": "int64", "float4": "float64", "float8": "float64", "bool": "bool_"}
