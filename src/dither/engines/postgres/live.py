"""Live tables of PostgreSQL, where we may not write: each statement sanitises, ranks and limits the rows it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg

from dither.engines.postgres.engine import PostgresEngine
from dither.engines.postgres.live_session import Found, LiveSession
from dither.engines.postgres.place import Place
from dither.engines.postgres.session import away
from dither.engines.postgres.source import PostgresTable
from dither.engines.protocol import LoadReport, Progress, Statement, Stored
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.policy.limits import Limits
from dither.sql.lowering.live_postgresql_dialect import LivePostgreSQL, provable
from dither.sql.lowering.statement import OWNER

_NOT_STORED = "tables on a live engine are asked where they are: nothing is copied from them or to them. Load a copy."


class LiveEngine(PostgresEngine):
    """Holds no snapshots: `has` says whether a live table is what its declaration says.

    A question reads one version of its rows, a repeated one returns the answer that was paid for, and after `refresh`
    the same words are a new question.
    """

    dialect: LivePostgreSQL
    stores = False
    session = LiveSession

    def __init__(self, folder: Path, settings: Place, *, limits: Callable[[], Limits] = Limits) -> None:
        super().__init__(folder, settings, limits=limits)
        self._settings, self.dialect = settings, LivePostgreSQL(schema=settings.schema)

    # Tables

    def load(
        self,
        table: Table,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport:
        """Nothing is read but counts, for the report. The source names the live table, whose name is the table's."""
        provable(table)
        named = f"{self._settings.schema}.{table.name}"
        if (source.table if isinstance(source, PostgresTable) else str(source)) != named:
            raise PolicyError(
                f"the source of a live table is its own place, here {named!r}: it is registered under the name it has."
            )
        if isinstance(source, PostgresTable) and source.dsn_env != self._settings.dsn_env:
            raise PolicyError(f"the live table {named} is where {self._settings.dsn_env} says; name it in the source.")
        if strict:
            raise PolicyError("strict= refuses records that do not fit, and those of a live table are yet to come.")
        return self._counted(table)

    def _counted(self, table: Table) -> LoadReport:
        def count(session: LiveSession, found: Found) -> tuple[int, ...]:
            read = self.dialect.records(_typed(table, found))
            owner, most = self.dialect.name(OWNER), table.max_rows_per_owner
            asked = (
                f"SELECT COALESCE(SUM(n) FILTER (WHERE {owner} IS NOT NULL), 0), COUNT({owner}), "
                f"COALESCE(SUM(n) FILTER (WHERE {owner} IS NULL), 0), "
                f"COALESCE(SUM(GREATEST(n - {most}, 0)) FILTER (WHERE {owner} IS NOT NULL), 0) "
                f"FROM (SELECT {owner}, COUNT(*) AS n FROM {read} AS read GROUP BY 1) AS owners"
            )
            return tuple(map(int, session.raw.execute(asked).fetchone() or ()))

        rows, owners, without, beyond = self._looking(table, count)
        return LoadReport(rows, owners, without, {}, {}, beyond)

    def _looking(self, table: Table, work: Callable[[LiveSession, Found], Any]) -> Any:
        """What it finds in a table that is held; PolicyError if the server is away or the table is another."""
        with self._sessions.slot() as held:
            session = cast(LiveSession, held)
            try:
                (found,) = session.hold([table], self.dialect).values()
                return work(session, found)
            except psycopg.Error as error:
                raise away(error, self._settings) from None
            finally:
                session.ready()

    def has(self, table: Table | PublicTable) -> bool:
        """Whether the table is here; PolicyError if it is not what its declaration says, or the server is away."""
        if isinstance(table, PublicTable):
            return False
        self._looking(table, lambda session, found: session.raw.execute(self._none_of(table)))
        return True

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """Its rows are others' to store."""
        return Stored() if self.has(table) else None

    def _none_of(self, table: Table) -> str:
        """A statement that reads no row, and is refused where rows may not be read."""
        return f"SELECT 1 FROM {self.dialect.rows(table)} AS held LIMIT 0"

    def owner_type(self, table: Table) -> str:
        """How the table's owners are read: BIGINT or VARCHAR."""
        return table.owner_type or str(self._looking(table, lambda session, found: found.owner_type(table)))

    def store(self, table: Table | PublicTable, rows: Any, progress: Progress | None = None) -> None:
        """Refused."""
        raise PolicyError(_NOT_STORED)

    def rows(self, table: Table | PublicTable) -> AbstractContextManager[Any]:
        """Refused."""
        raise PolicyError(_NOT_STORED)

    def drop(self, table: Table | PublicTable) -> None:
        """Nothing of ours is there."""

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Nothing of ours is there."""

    # Statements

    def _asked(self, session: Any, statement: Statement) -> Any:
        session.hold([provable(table) for table in statement.tables], self.dialect)
        return session.ask(statement.sql)


def _typed(table: Table, found: Found) -> Table:
    return replace(table, owner_type=table.owner_type or found.owner_type(table))
