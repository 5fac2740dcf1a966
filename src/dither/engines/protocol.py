"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dither.errors import DitherError, PolicyError
from dither.exact.digits import counted
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import MOST_ROWS, PublicTable, Table, most_rows
from dither.policy.columns import Column
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import Statement

__all__ = ["Engine", "EngineError", "LoadReport", "Progress", "Statement", "StatementStopped", "check_rows"]

_MUCH = 0.2  # a share of values that did not fit of which the declaration is probably the reason
_EXPECTED = {
    "int": "whole numbers",
    "fixed": "numbers such as 12.50, with a decimal point",
    "bool": "true or false, 1 or 0",
    "date": "days such as 2024-12-31",
    "timestamp": "times such as 2024-12-31 23:59:59",
    "category": "exactly the declared labels (letter case and spaces around them matter)",
    "text": "text within its max_length",
}
Progress = Callable[[str, float], None]  # what is being done, and the fraction finished


class EngineError(DitherError):
    """An engine could not answer. Always the same words: the engine's own could quote data."""

    code = "engine_failed"

    def __init__(self) -> None:
        super().__init__("the engine could not answer this statement")


class StatementStopped(EngineError):
    """A statement took more than it may, or the process that ran it died: an incident, since it can tell one bit."""

    code = "statement_stopped"


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
    unreadable_lines: int = 0  # of CSV, with more or fewer fields than the header
    beyond_max_rows_per_owner_in: dict[str, int] = field(default_factory=dict)  # by column; not stored
    beyond_max_values_per_owner: dict[str, int] = field(default_factory=dict)  # by column; not stored
    utf8: bool = True  # whether the text of a CSV source is
    expected: dict[str, str] = field(default_factory=dict)  # what a column's values look like, where some did not fit

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        # A public table has no owners, and any other has some.
        yield counted(self.rows, "row") + (f" of {counted(self.owners, 'owner')}" if self.owners else "")
        dropped = {
            "as unreadable lines (more or fewer fields than the header, say)": self.unreadable_lines,
            "without an owner": self.dropped_without_owner,
            "since their key does not fit": self.dropped_without_key,
            "since they repeat a key of their owner": self.dropped_as_repeats,
        }
        for why, count in dropped.items():
            if count:  # `rows` counts those that were kept, so the share is of all that were read
                yield f"  dropped {why}: {_share(count, self.rows + sum(dropped.values()))}"
        if self.beyond_max_rows_per_owner:
            yield f"  beyond the rows kept of each owner: {_share(self.beyond_max_rows_per_owner, self.rows)}"
        read = self.rows + self.dropped_as_repeats
        for column, count in self.clamped.items():
            if count:
                yield f"  clamped to the bounds, {column}: {_share(count, read)}"
        for column, count in self.replaced.items():
            if count:
                loud = "WARNING: " if count > _MUCH * read else ""
                hint = f"; expected {self.expected[column]}" if column in self.expected else ""
                yield f"  {loud}did not fit, {column}: {_share(count, read)}{hint}"
        if not self.utf8:
            yield (
                "  the file is not all UTF-8, and values with other bytes were read as NULL: convert it first, such as "
                "with iconv -f LATIN1 -t UTF-8 if it is in Latin-1"
            )


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


def expectations(columns: Mapping[str, Column], replaced: Mapping[str, int]) -> dict[str, str]:
    """Of the columns of which some values did not fit: what does."""
    return {name: _EXPECTED[columns[name].kind] for name, count in replaced.items() if count}


def _share(count: int, rows: int) -> str:
    """A count with its percentage of the rows: never shown as none or all where it is not.

    >>> _share(1, 1_000_000), _share(250, 1000)
    ('1 (below 0.1%)', '250 (25.0%)')
    """
    percent = 100 * count / rows
    return f"{count:,} ({'below 0.1' if percent < 0.1 else f'{percent:.1f}'}%)"


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
