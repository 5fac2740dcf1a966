"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dither.engines.load_report import LoadReport
from dither.errors import DitherError, PolicyError
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import MOST_ROWS, PublicTable, Table, most_rows
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import Statement

__all__ = ["Engine", "EngineError", "LoadReport", "Progress", "Statement", "StatementStopped", "check_rows"]

Progress = Callable[[str, float], None]  # what is being done, and the fraction finished


class EngineError(DitherError):
    """An engine could not answer. Always the same words: the engine's own could quote data."""

    code = "engine_failed"

    def __init__(self) -> None:
        super().__init__("the engine could not answer this statement")


class StatementStopped(EngineError):
    """A statement took more than it may, or the process that ran it died: an incident, since it can tell one bit."""

    code = "statement_stopped"


def check_rows(table: Table | PublicTable, rows: int) -> None:
    """Refuse to store more rows than were declared; for the curator only, who knows how many there are."""
    if rows <= most_rows(table):
        return
    if table.max_rows is None:
        raise PolicyError(f"table {table.name!r} has more than {MOST_ROWS} rows; load it in parts.")
    raise PolicyError(
        f"table {table.name!r} is declared with max_rows={table.max_rows}, and the source has more rows; nothing was "
        "stored. Load fewer, or drop the table and register it with a larger number."
    )


class Engine(Protocol):
    """Holds snapshots; returns exact aggregates, sealed, one dense array a measure in the order of the public keys.

    It runs statements in its own `dialect`.
    """

    @property
    def dialect(self) -> Dialect: ...

    def load(
        self,
        table: Table | PublicTable,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport: ...

    def owner_type(self, table: Table) -> str: ...

    def labels(self, table: PublicTable) -> dict[str, tuple[str, ...]]:
        """The values of a public table's text columns that have few enough to be listed."""
        ...

    def drop(self, table: Table | PublicTable) -> None: ...

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None: ...

    def has(self, table: Table | PublicTable) -> bool: ...

    def warm(self) -> None:
        """Get ready for a statement in the background."""
        ...

    def slot(self, analyst: str | None = None) -> AbstractContextManager[object]:
        """What it takes to run this thread's statements at once, held; Busy if all there is for an analyst is taken."""
        ...

    def run(self, statement: Statement) -> Sequence[Exact]: ...

    def close(self) -> None: ...
