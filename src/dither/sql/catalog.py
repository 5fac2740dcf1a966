"""What a query may know before it is charged: declared metadata only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dither.columns import Column
from dither.errors import PolicyError
from dither.sql.names import meant


@dataclass(frozen=True)
class Table:
    """A registered private table. `snapshot` counts loads: new at every refresh, never derived from content."""

    name: str
    people: str
    owner: str
    max_rows_per_owner: int
    columns: Mapping[str, Column]
    snapshot: int = 0


@dataclass(frozen=True)
class Catalog:
    """The tables an analyst can name. Identifiers are matched without regard to case, as in SQL."""

    tables: Mapping[str, Table]

    def table(self, name: str) -> Table:
        for known, table in self.tables.items():
            if known.lower() == name.lower():
                return table
        listed = ", ".join(sorted(self.tables)) or "none"
        raise PolicyError(f"there is no table {name!r}; registered are: {listed}. {meant(name, self.tables)}".rstrip())
