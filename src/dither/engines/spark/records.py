"""Records of a DataFrame sanitised and hashed where they are, by the SQL that DuckDB's own loads run.

Each task feeds its Arrow batches to a DuckDB in memory, so every value means what it means anywhere else, and the
secret key travels with the function, in no SQL text and no plan. Executors need dither installed, in the same version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.engines.duckdb.snapshots.loading import Loading
from dither.engines.duckdb.snapshots.owners import Owners
from dither.engines.duckdb.snapshots.rank import row_digest, value_digest
from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.engines.duckdb.sources.sources import Source, open_sources
from dither.engines.spark.warehouse import OWNER_TYPES
from dither.errors import PolicyError
from dither.policy.catalog import Table
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER

if TYPE_CHECKING:
    import duckdb

DIGEST = "_digest"
_SHIFT = 2**63  # digests are unsigned, and Spark's words are not: the order stays the same
_BATCH = 16_384  # rows of a result at a time


def change(table: Table, name: str) -> str:
    """The column that says what was changed in a declared one: 1 clamped, 2 replaced, 0 nothing."""
    return f"_change{list(table.columns).index(name)}"


def place_digest(table: Table, name: str) -> str:
    """The column with the hash of an owner's value, by which values are limited."""
    return f"{DIGEST}{list(table.columns).index(name)}"


@dataclass(frozen=True)
class Sanitiser:
    """A function of a task's batches: declared columns and what was changed in each, with owners if a column has them.

    It is sent to executors as it is.
    """

    table: Table

    @property
    def owned(self) -> bool:
        """Whether a column of the records says whose they are."""
        return self.table.via is None and not self.table.row_level

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        first = next(iter(batches), None)
        if first is None:
            return
        with _connection() as connection:
            load, owners = self._load(connection)
            reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
            sources = open_sources(connection, reader, owners.wanted)
            yield from _streamed(connection, self._select(load, owners, sources))
            if not all(source.tally.complete for source in sources):
                raise PolicyError("not every record of the source arrived.")

    def columns(self, schema: Any) -> tuple[dict[str, str], str]:
        """What comes of records of this Arrow schema, and how owners are stored; refused where it cannot be read."""
        with _connection() as connection:
            load, owners = self._load(connection)
            self._select(load, owners, open_sources(connection, schema.empty_table(), owners.wanted))
        kind = owners.kind if self.owned else self.table.owner_type or "BIGINT"
        made = {OWNER: OWNER_TYPES[kind]} if self.owned else {}
        for name, column in self.table.columns.items():
            made |= {name: SPARK.stored(column), change(self.table, name): "TINYINT"}
        return made, kind

    def _load(self, connection: duckdb.DuckDBPyConnection) -> tuple[Loading, Owners]:
        load = Loading(connection, self.table.name, self.table.columns, Path(), None)
        load.declare_labels()
        return load, Owners(load, self.table if self.owned else replace(self.table, owner="", via=None), None)

    def _select(self, load: Loading, owners: Owners, sources: list[Source]) -> str:
        return owners.records(sources) if self.owned else load.all_sanitised(sources)


@dataclass(frozen=True)
class Hasher:
    """A function of a task's batches: the same rows, each with its keyed hash and those of limited values."""

    table: Table
    owner_type: str
    key: str = field(repr=False)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        first = next(iter(batches), None)
        if first is None:
            return
        columns = dict(self.table.columns)
        digests = {DIGEST: row_digest(self.owner_type, columns)}
        for name in self.table.structure.values:
            digests[place_digest(self.table, name)] = value_digest(self.owner_type, name, columns[name])
        shown = [f"CAST({sql}::HUGEINT - {_SHIFT} AS BIGINT) AS {quoted(name)}" for name, sql in digests.items()]
        with _connection() as connection:
            reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
            connection.register("records", reader)
            yield from _streamed(connection, f"SELECT *, {', '.join(shown)} FROM records", {"key": self.key})

    @property
    def columns(self) -> dict[str, str]:
        """Those that it adds."""
        limited = [place_digest(self.table, name) for name in self.table.structure.values]
        return dict.fromkeys([DIGEST, *limited], "BIGINT")


@dataclass(frozen=True)
class Chain:
    """One function after the other, so that rows go to Python once."""

    first: Sanitiser
    second: Hasher

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return self.second(self.first(batches))


def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    config: dict[str, Any] = {"threads": "1", "autoload_known_extensions": "false"}
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET TimeZone = 'UTC'").fetchall()
    return connection


def _streamed(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, str] | None = None
) -> Iterator[Any]:
    yield from connection.sql(sql, params=parameters).to_arrow_reader(_BATCH)
