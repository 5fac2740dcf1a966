"""Queries of the catalog: which statements are some, and how they are answered from declarations alone."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dither.engines.duckdb.wire import serialised
from dither.engines.duckdb.workers import Terms, Workers
from dither.engines.protocol import EngineError, StatementStopped
from dither.errors import Busy, PolicyError
from dither.server.questions import key_of
from dither.server.wire.catalog.functions import Session
from dither.server.wire.catalog.rewriting import parsed, refused, relation_of, rewritten
from dither.server.wire.catalog.rows import Declarations
from dither.server.wire.results import RowColumn, Rows
from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import statements
from dither.server.wire.value_types import type_of

if TYPE_CHECKING:
    from dither.curator.service import Service
    from dither.server.wire.connection import Connection

SECONDS, MEMORY, WORKERS, PATIENCE = 2, 2**30, 2, 10.0  # of a query; all of them; how long one waits


class Catalog:
    """The catalog of one process. Its workers have no snapshot open and no file in reach."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._folder = Path(tempfile.mkdtemp(prefix="dither-catalog-"))
        config: dict[str, Any] = {"memory_limit": f"{MEMORY // 4}B", "threads": 1}
        terms = Terms(MEMORY, SECONDS, config, "1MB")
        self._workers = Workers(self._folder, lambda: terms, lambda: WORKERS)

    def warm(self) -> None:
        self._workers.warm()

    def close(self) -> None:
        self._workers.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def concerns(self, text: str) -> bool:
        """Whether a query is about the catalog, or about nothing at all, as SELECT 1 is; all others are questions."""
        names = {
            token.value.lower() for one in statements(text) for token in one.tokens if token.kind in ("word", "name")
        }
        if not any(name.startswith("pg_") or name == "information_schema" for name in names) and "from" in names:
            return False
        tree = parsed(text)
        if tree is None:
            return False
        tables = list(tree.find_all(exp.Table))
        ctes = {cte.alias.lower(): cte for cte in tree.find_all(exp.CTE)}
        return not tables or any(relation_of(table, ctes) is not None for table in tables)

    def rows(self, text: str, connection: Connection) -> Rows:
        """The rows of such a query."""
        tree = parsed(text)
        if tree is None:
            raise refused("this query")
        tables = self._service.tables(connection.asking.principal)
        settings = connection.settings.all()
        known = Declarations(tables, connection.login.user, connection.database, settings)
        named = {name: value for name, value, _ in settings}
        found = rewritten(tree, Session(known.user, known.database, named, known.numbers))
        frames = {name: known.relation(relation) for name, relation in found.relations.items()}
        table = self._run(found.sql, frames, key_of(connection.asking.principal))
        columns = tuple(RowColumn(field.name, type_of(field.type)) for field in table.schema)
        return Rows(columns, [column.combine_chunks() for column in table.columns])

    def _run(self, sql: str, frames: dict[str, Any], whose: str) -> Any:
        """On a worker; nobody has all of them."""
        try:
            with self._workers.slot(whose, PATIENCE) as process:
                asked = {"sql": sql, "places": [], "tables": list(frames)}
                return process.ask(asked, [serialised(frame) for frame in frames.values()])
        except StatementStopped:
            raise WireError("57014", f"the catalog is looked into for at most {SECONDS} seconds.") from None
        except EngineError:
            raise refused("this form of a query of the catalog") from None
        except (Busy, PolicyError):
            raise WireError("53000", "no worker is free for the catalog; try again.") from None
