"""TRUSTED. Finished snapshots into PostgreSQL, as tables of a schema that is ours alone: copied, read back, committed.

Rows come sanitised, owned and ranked, so the key of ranks is not needed here. Nothing of a snapshot is there before its
transaction commits, and nobody but the role that owns it may read it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from dither.engines.duckdb.snapshots.stored_rows import batch_rows, columns_of
from dither.engines.postgres.binary_rows import HEADER, TRAILER, batch_of, copied, types_of
from dither.engines.postgres.place import Place
from dither.engines.postgres.session import away, connect
from dither.engines.protocol import Progress
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Column
from dither.sql.lowering.postgresql_dialect import POSTGRESQL
from dither.sql.lowering.statement import OWNER, RANK

_OURS = re.compile(r"t_[a-z][a-z0-9_]*_[0-9]{6,}")
_BITS = 63  # ranks that bits of a word tell apart; the pairs of owner and rank beyond them are counted
_ALL = 2**_BITS - 1
_GRANTED = """
SELECT count(*) FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) AS granted
WHERE pg_class.oid = %s::regclass AND granted.grantee <> relowner
"""
_SPACE_GRANTED = """
SELECT nspowner = (SELECT oid FROM pg_roles WHERE rolname = current_user), obj_description(oid, 'pg_namespace'),
  EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = pg_namespace.oid),
  EXISTS (SELECT 1 FROM aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS g WHERE g.grantee <> nspowner)
FROM pg_namespace WHERE nspname = %s
"""


class Snapshots:
    """The snapshots of one curator's folder, which `mark` names in the schema: no other folder's are there."""

    def __init__(self, settings: Place, mark: Callable[[], str]) -> None:
        self._settings, self._mark = settings, mark

    @contextmanager
    def _writing(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction that may write, in the schema that is ours."""
        connection = connect(self._settings)
        try:
            with connection.transaction():
                self._own_space(connection)
                yield connection
        except psycopg.Error as error:
            raise away(error, self._settings) from None
        finally:
            connection.close()

    def _own_space(self, connection: psycopg.Connection[Any]) -> None:
        """Make the schema if it is not there; refused if it is another's, or if others may look into it."""
        name, mark = self._settings.schema, f"dither {self._mark()}"
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (name,))
        if connection.execute(_SPACE_GRANTED, (name,)).fetchone() is None:
            connection.execute(f'CREATE SCHEMA "{name}"')
        own, marked, used, granted = connection.execute(_SPACE_GRANTED, (name,)).fetchone() or (False, None, True, True)
        if not own:
            raise PolicyError(f"the schema {name} of PostgreSQL is not owned by the role that asks; name another.")
        if granted:
            raise PolicyError(
                f"others than its owner have rights on the schema {name} of PostgreSQL; revoke them (REVOKE ALL ON "
                f"SCHEMA {name} FROM ...), and the default privileges that gave them."
            )
        if marked is None and not used:
            connection.execute(f"COMMENT ON SCHEMA \"{name}\" IS '{mark}'")
        elif marked != mark:
            raise PolicyError(f"the schema {name} of PostgreSQL is not of this curator's folder; name another.")

    def store(self, table: Table | PublicTable, rows: Any, expected: int | None, progress: Progress | None) -> None:
        """Copy the rows, read them back, and commit; `expected` is how many there are, if that is known."""
        import pyarrow as pa

        place, names = POSTGRESQL.rows(table), columns_of(table)
        whole = pa.types.is_integer(rows.schema.field(OWNER).type) if isinstance(table, Table) else True
        types = [_type(name, _declared(table), whole) for name in names]
        listed = ", ".join(map(POSTGRESQL.name, names))
        defined = ", ".join(
            f"{POSTGRESQL.name(name)} {type_}{_COLLATED if type_ == 'TEXT' else ''}"
            for name, type_ in zip(names, types, strict=True)
        )
        with self._writing() as connection:
            connection.execute(f"CREATE TABLE {place} ({defined})")
            connection.execute(f"REVOKE ALL ON {place} FROM PUBLIC")
            if connection.execute(_GRANTED, (place,)).fetchone() != (0,):
                raise PolicyError(
                    "PostgreSQL gives others rights on new tables by default; revoke that (ALTER DEFAULT PRIVILEGES)."
                )
            sent = 0
            command = f"COPY {place} ({listed}) FROM STDIN (FORMAT binary, FREEZE)"
            with connection.cursor() as cursor, cursor.copy(command) as copy:
                copy.write(HEADER)
                for batch in rows:
                    copy.write(copied(batch, types))
                    sent += batch.num_rows
                    if progress is not None:
                        progress("copying", 0.9 * min(1.0, sent / max(expected or sent * 2, 1)))
                copy.write(TRAILER)
            connection.execute(f"ANALYZE {place}")
            _verify(connection, table, place, sent)
        if progress is not None:
            progress("verified", 1.0)

    @contextmanager
    def rows(self, table: Table | PublicTable) -> Iterator[Any]:
        """An Arrow reader of a snapshot as it is stored."""
        import pyarrow as pa

        listed = ", ".join(map(POSTGRESQL.name, columns_of(table)))
        connection = connect(self._settings)
        try:
            with connection.transaction(), connection.cursor("moved", binary=True) as cursor:
                cursor.execute(f"SELECT {listed} FROM {POSTGRESQL.rows(table)}")
                types, names = types_of(cursor), columns_of(table)
                size = batch_rows(table)
                first = batch_of(cursor.fetchmany(size), types).rename_columns(names)
                yield pa.RecordBatchReader.from_batches(first.schema, _following(first, cursor, types, size))
        except psycopg.Error as error:
            raise away(error, self._settings) from None
        finally:
            connection.close()

    def drop(self, table: Table | PublicTable) -> None:
        with self._writing() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {POSTGRESQL.rows(table)}")

    def keep_only(self, tables: Any) -> None:
        """Delete all other snapshots. If the server is away, that is said, and done the next time."""
        kept = {POSTGRESQL.rows(table) for table in tables}
        try:
            with self._writing() as connection:
                found = connection.execute(
                    "SELECT tablename FROM pg_tables WHERE schemaname = %s", (self._settings.schema,)
                ).fetchall()
                for (name,) in found:
                    if _OURS.fullmatch(name) and POSTGRESQL.name(name) not in kept:
                        connection.execute(f"DROP TABLE {POSTGRESQL.name(name)}")
        except PolicyError as error:
            warnings.warn(f"old snapshots may still be in PostgreSQL: {error}", stacklevel=2)


_COLLATED = ' COLLATE "C"'


def _following(first: Any, cursor: Any, types: list[str], size: int) -> Iterator[Any]:
    yield first
    while rows := cursor.fetchmany(size):
        yield batch_of(rows, types).rename_columns(first.schema.names)


def _declared(table: Table | PublicTable) -> dict[str, Column]:
    return dict(table.stored if isinstance(table, PublicTable) else table.columns)


def _type(name: str, columns: dict[str, Column], whole: bool) -> str:
    if name in columns:
        return POSTGRESQL.stored(columns[name])
    return "INTEGER" if name == RANK else "BIGINT" if whole else "TEXT"


def _verify(connection: psycopg.Connection[Any], table: Table | PublicTable, place: str, sent: int) -> None:
    """Read back what statements rely on: bounds, NULLs, keys, owners, ranks. Anything else is refused."""
    columns = _declared(table)
    own = [POSTGRESQL.name(OWNER)] if isinstance(table, Table) else []
    asked = ["COUNT(*)", *(POSTGRESQL.outside(*item) for item in columns.items())]
    (count, *wrong) = _row(connection, f"SELECT {', '.join(asked)} FROM {place}")
    if table.key:
        by = ", ".join([*own, *map(POSTGRESQL.name, table.key)])
        wrong += _row(
            connection, f"SELECT COUNT(*) FROM (SELECT 1 FROM {place} GROUP BY {by} HAVING COUNT(*) > 1) AS a"
        )
    if isinstance(table, Table):
        wrong += _misranked(connection, place)
    if count != sent or any(wrong):
        raise PolicyError(f"table {table.name!r}: the snapshot does not hold what was declared; nothing was stored.")


def _misranked(connection: psycopg.Connection[Any], place: str) -> list[int]:
    """Rows without an owner or a rank, and owners whose ranks are not 1, 2, ... up to the number of their rows."""
    first = f'"{RANK}" BETWEEN 1 AND {_BITS}'
    bits = f'BIT_OR(CASE WHEN {first} THEN CAST(1 AS BIGINT) << ("{RANK}" - 1) ELSE 0 END)'
    full = f"CASE WHEN total >= {_BITS} THEN {_ALL} ELSE (CAST(1 AS BIGINT) << CAST(total AS INTEGER)) - 1 END"
    ranks = (
        f'SELECT COUNT(*) FROM (SELECT COUNT(*) AS total, MAX("{RANK}") AS largest, COUNT(*) FILTER (WHERE {first}) '
        f'AS first, {bits} AS seen FROM {place} GROUP BY "{OWNER}") AS a '
        f"WHERE largest <> total OR first <> LEAST(total, {_BITS}) OR seen <> {full}"
    )
    pairs = f'SELECT 1 FROM {place} WHERE "{RANK}" > {_BITS} GROUP BY "{OWNER}", "{RANK}" HAVING COUNT(*) > 1'
    missing = f'SELECT COUNT(*) FROM {place} WHERE "{OWNER}" IS NULL OR "{RANK}" IS NULL'
    return [_row(connection, sql)[0] for sql in (missing, ranks, f"SELECT COUNT(*) FROM ({pairs}) AS a")]


def _row(connection: psycopg.Connection[Any], sql: str) -> list[int]:
    return list(connection.execute(sql).fetchone() or [1])
