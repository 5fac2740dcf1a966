"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dither.engines.load_report import LoadReport
from dither.errors import DitherError, PolicyError
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import HOME, MOST_ROWS, PublicTable, Table, most_rows
from dither.policy.shape import Shape
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import Statement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Engine",
    "EngineError",
    "Holder",
    "Home",
    "LoadReport",
    "Progress",
    "Statement",
    "StatementStopped",
    "Stored",
    "check_rows",
]

Progress = Callable[[str, float], None]  # what is being done, and the fraction finished


class EngineError(DitherError):
    """An engine could not answer. Always the same words: the engine's own could quote data.

    `why` has the engine's words where there were no data but published ones.
    """

    code = "engine_failed"

    def __init__(self, why: str = "") -> None:
        super().__init__("the engine could not answer this statement")
        self.why = why


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


@dataclass(frozen=True)
class Stored:
    """A snapshot as it lies on an engine: how large, and since when (seconds since 1970), as far as that tells."""

    bytes: int | None = None
    since: int | None = None


class Holder(Protocol):
    """One engine: holds snapshots of private tables and copies of public ones, and runs statements in its `dialect`.

    DuckDB is one, and so is each that tables can be put on beside it. Every snapshot is whole or not there.
    """

    @property
    def dialect(self) -> Dialect: ...

    @property
    def stores(self) -> bool:
        """Whether it holds snapshots, which never change; or else tables that others change, where they are."""
        ...

    def load(
        self,
        table: Table,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport:
        """Sanitise, rank and verify the source's records; `parent`, where a foreign key leads, is held here too."""
        ...

    def store(self, table: Table | PublicTable, rows: Any, progress: Progress | None = None) -> None:
        """Keep the rows of a finished snapshot, an Arrow reader with a schema, as they are: owners and ranks too."""
        ...

    def rows(self, table: Table | PublicTable) -> AbstractContextManager[Any]:
        """An Arrow reader of a snapshot as it is stored: the owner, the columns, the rank; for `store` elsewhere."""
        ...

    def owner_type(self, table: Table) -> str: ...

    def drop(self, table: Table | PublicTable) -> None: ...

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete all other snapshots; if they cannot be reached, warn, and do it the next time."""
        ...

    def has(self, table: Table | PublicTable) -> bool: ...

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """How its snapshot lies here; None if there is none."""
        ...

    def warm(self) -> None:
        """Get ready for a statement in the background."""
        ...

    def slot(self, analyst: str | None = None, patience: float | None = None) -> AbstractContextManager[object]:
        """What it takes to run this thread's statements at once, held; Busy if all there is for an analyst is taken
        for as long as limits let a question wait, or for `patience` if that is less."""
        ...

    def charge_ahead(self, times: int) -> None:
        """So many times more questions are charged at once than can run."""
        ...

    def place(self, analyst: str | None = None) -> AbstractContextManager[object]:
        """Leave to be charged: a slot, or where questions are charged ahead of one, a place near enough to it."""
        ...

    def run(self, statement: Statement) -> Sequence[Exact]:
        """Exact integers, sealed. Whatever fails is the same EngineError, or StatementStopped."""
        ...

    def close(self) -> None: ...


class Home(Holder, Protocol):
    """The engine that is always there: it has all public tables, and computes with what is public."""

    def labels(self, table: PublicTable) -> dict[str, tuple[str, ...]]:
        """The values of a public table's text columns that have few enough to be listed."""
        ...

    def shape(self, table: PublicTable) -> Shape:
        """How the rows of a public table's snapshot lie."""
        ...

    def compute(self, sql: str, tables: Mapping[str, Any], most: int) -> Any:
        """An Arrow table of at most so many bytes, computed from published ones by DuckDB's SQL, where nothing else is
        in reach."""
        ...

    def public_rows(self, table: PublicTable) -> Any:
        """The stored rows of a public table, as an Arrow table of codes and texts."""
        ...

    def listed(self, statement: Statement) -> NDArray[np.bool_]:
        """Which groups of its keys have a row: for statements over public tables alone, any other is refused."""
        ...


class Engine(Protocol):
    """What the walk sees: several engines as one. What `on` names is where a question's private tables are.

    A statement returns exact aggregates, sealed, one dense array a measure in the order of the public keys.
    """

    def dialect_of(self, on: str) -> Dialect: ...

    def has(self, table: Table | PublicTable, on: str) -> bool: ...

    def warm(self) -> None: ...

    def slot(
        self, analyst: str | None = None, on: str = HOME, patience: float | None = None
    ) -> AbstractContextManager[object]: ...

    def charge_ahead(self, times: int) -> None: ...

    def place(self, analyst: str | None = None, on: str = HOME) -> AbstractContextManager[object]: ...

    def run(self, statement: Statement) -> Sequence[Exact]: ...

    def compute(self, sql: str, tables: Mapping[str, Any], most: int) -> Any: ...

    def public_rows(self, table: PublicTable) -> Any: ...

    def listed(self, statement: Statement) -> NDArray[np.bool_]: ...

    def close(self) -> None: ...
