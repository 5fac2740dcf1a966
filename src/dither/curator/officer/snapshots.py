"""What is stored of each table: where, since when and how large. It is exact, so it is for the curator alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.policy.catalog import HOME, PublicTable, Table

if TYPE_CHECKING:
    from dither.engines.protocol import Stored


@dataclass(frozen=True)
class Snapshot:
    """A table's protected snapshot: its number, its engine, and how it lies there as far as that tells.

    `people` is None for a public table; `since` is in seconds since 1970.
    """

    table: str
    people: str | None
    number: int
    engine: str
    there: bool
    bytes: int | None
    since: int | None


def snapshots_of(
    tables: Iterable[Table | PublicTable], stored: Callable[[Table | PublicTable, str], Stored | None]
) -> list[Snapshot]:
    """The current snapshot of each table."""
    found = []
    for table in tables:
        people, on = (table.people, table.engine) if isinstance(table, Table) else (None, HOME)
        lies = stored(table, on)
        size, since = (None, None) if lies is None else (lies.bytes, lies.since)
        found.append(Snapshot(table.name, people, table.snapshot, on, lies is not None, size, since))
    return found
