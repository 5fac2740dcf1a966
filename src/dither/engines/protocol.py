"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dither.errors import DitherError
from dither.mechanisms.exact import Exact
from dither.sql.catalog import PublicTable, Table
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
    dropped_without_key: int = 0  # a value of the key does not fit its declaration
    dropped_as_repeats: int = 0  # the owner has another row with the same key

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        # A public table has no owners, and any other has some.
        yield _counted(self.rows, "row") + (f" of {_counted(self.owners, 'owner')}" if self.owners else "")
        dropped = {
            "without an owner": self.dropped_without_owner,
            "since their key does not fit": self.dropped_without_key,
            "since they repeat a key of their owner": self.dropped_as_repeats,
        }
        for why, count in dropped.items():
            if count:  # `rows` counts those that were kept, so the share is of all that were read
                yield f"  dropped {why}: {_share(count, self.rows + sum(dropped.values()))}"
        if self.beyond_max_rows_per_owner:
            yield f"  beyond the rows kept of each owner: {_share(self.beyond_max_rows_per_owner, self.rows)}"
        for words, counts in (("clamped to the bounds", self.clamped), ("did not fit", self.replaced)):
            for column, count in counts.items():
                if count:
                    yield f"  {words}, {column}: {_share(count, self.rows + self.dropped_as_repeats)}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _share(count: int, rows: int) -> str:
    """A count with its percentage of the rows: never shown as none or all where it is not.

    >>> _share(1, 1_000_000), _share(250, 1000)
    ('1 (below 0.1%)', '250 (25.0%)')
    """
    percent = 100 * count / rows
    return f"{count:,} ({'below 0.1' if percent < 0.1 else f'{percent:.1f}'}%)"


class Engine(Protocol):
    """Holds snapshots; returns exact aggregates, sealed, one dense array a measure in the order of the public keys."""

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

    def drop(self, table: Table | PublicTable) -> None: ...

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None: ...

    def has(self, table: Table | PublicTable) -> bool: ...

    def run(self, statement: Statement) -> Sequence[Exact]: ...

    def close(self) -> None: ...
