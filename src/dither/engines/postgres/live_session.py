"""TRUSTED. A connection that asks live tables: a question's statements in one transaction, their columns locked.

Rows may change while they are asked about, and others see nothing of that; columns may not, since statements were
written for them. So tables are locked against that before anything is looked at, and looked at before they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg.pq import TransactionStatus

from dither.engines.postgres.session import Session
from dither.errors import PolicyError
from dither.policy.catalog import MOST_ROWS, Table
from dither.policy.columns import Bool, Category, Column, Date, Text, Timestamp
from dither.sql.lowering.live_postgresql_dialect import LivePostgreSQL

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LEAST_BYTES = 28  # of a row in a heap: its header and its place in the page
_INTEGERS = ("int2", "int4", "int8")
_TEXTS = ("text", "varchar")
_OWNERS = (*_INTEGERS, *_TEXTS, "uuid")
_KINDS: dict[type[Column], tuple[str, ...]] = {
    Bool: ("bool",),
    Date: ("date",),
    Timestamp: ("timestamp", "timestamptz"),
    Category: _TEXTS,
    Text: _TEXTS,
}
_NUMBERS = (*_INTEGERS, "numeric", "float8")
_RELATION = """
SELECT c.relkind = 'r' AND NOT c.relhassubclass AND coalesce(am.amname = 'heap', false), pg_relation_size(c.oid)
FROM pg_class AS c LEFT JOIN pg_am AS am ON am.oid = c.relam WHERE c.oid = %s::regclass
"""
# A column that is computed when it is read could fail on a row, and so could one of a type that somebody made.
_COLUMNS = """
SELECT attname, CASE WHEN typnamespace = 'pg_catalog'::regnamespace AND attgenerated <> 'v' THEN typname ELSE '' END
FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


@dataclass(frozen=True)
class Found:
    """What a live table is: its columns with the names of their types."""

    types: dict[str, str]

    def owner_type(self, table: Table) -> str:
        """How its owners are read, BIGINT or VARCHAR."""
        return "BIGINT" if self.types.get(table.owner) in _INTEGERS else "VARCHAR"


class LiveSession(Session):
    """Holds a transaction from the first statement of a question to the last."""

    _held: frozenset[str] = frozenset()

    def hold(self, tables: Sequence[Table], dialect: LivePostgreSQL) -> dict[str, Found]:
        """Begin, lock the tables, and see that they are what their declarations say; PolicyError if one is not."""
        places = {dialect.place(table): table for table in tables}
        if self.raw.info.transaction_status != TransactionStatus.IDLE and set(places) <= self._held:
            return {}
        self._end()
        self.raw.execute(_BEGIN)
        for place in sorted(places):  # before the first look, which fixes the version of all rows
            self.raw.execute(f"LOCK TABLE ONLY {place} IN ACCESS SHARE MODE")
        found = {table.name: self._found(place, table) for place, table in places.items()}
        self._held = frozenset(places)
        return found

    def _found(self, place: str, table: Table) -> Found:
        ordinary, size = self.raw.execute(_RELATION, (place,)).fetchone() or (False, 0)
        if not ordinary:
            raise PolicyError(
                f"{place} of PostgreSQL is no ordinary table (it is a view, say, or in parts): nothing is known of how "
                "its rows are made. Load a copy of it."
            )
        if size > MOST_ROWS * _LEAST_BYTES:
            raise PolicyError(f"{place} of PostgreSQL may have more than {MOST_ROWS} rows; load a part of it.")
        types = dict(self.raw.execute(_COLUMNS, (place,)).fetchall())
        wanted = {name: _KINDS.get(type(column), _NUMBERS) for name, column in table.columns.items()}
        owners = _INTEGERS if table.owner_type == "BIGINT" else _OWNERS
        for name, kinds in [(table.owner, owners), *wanted.items()]:
            if name not in types:
                raise PolicyError(f"{place} of PostgreSQL has no column {name!r} (case matters).")
            if types[name] not in kinds:
                raise PolicyError(
                    f"column {name!r} of {place}: while a table is live, it can be read from columns of the types "
                    f"{', '.join(kinds)} alone, and not from computed ones. Load a copy of the table."
                )
        return Found(types)

    def ready(self) -> bool:
        """The question is over, and so is its transaction."""
        self._end()
        return super().ready()

    def _end(self) -> None:
        self._held = frozenset()
        if not self.raw.closed and self.raw.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                self.raw.execute("ROLLBACK")
