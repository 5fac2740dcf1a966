"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dither.errors import DitherError
from dither.mechanisms.exact import Exact
from dither.sql.catalog import Table
from dither.sql.statement import MOST_ROWS, Statement

__all__ = ["MOST_ROWS", "Engine", "EngineError", "LoadReport", "Progress", "Statement"]

Progress = Callable[[str, float], None]  # what is being done, and the fraction finished


class EngineError(DitherError):
    """An engine could not answer. Always the same words: the engine's own could quote data."""

    def __init__(self) -> None:
        super().__init__("the engine could not answer this statement")


@dataclass(frozen=True)
class LoadReport:
    """What sanitising did, for the curator only: it is exact, so it must never reach an analyst."""

    rows: int
    owners: int
    dropped_without_owner: int
    clamped: dict[str, int]
    replaced: dict[str, int]
    beyond_max_rows_per_owner: int


class Engine(Protocol):
    """Holds snapshots; returns exact aggregates, sealed, one dense array a measure in the order of the public keys."""

    def load(
        self, table: Table, source: Any, *, strict: bool = False, progress: Progress | None = None
    ) -> LoadReport: ...

    def drop(self, table: Table) -> None: ...

    def keep_only(self, tables: Collection[Table]) -> None: ...

    def has(self, table: Table) -> bool: ...

    def run(self, statement: Statement) -> Sequence[Exact]: ...

    def close(self) -> None: ...
