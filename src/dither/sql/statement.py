"""What an engine is handed: SQL that dither generated, and the shape of its result."""

from __future__ import annotations

from dataclasses import dataclass

from dither.sql.catalog import Table
from dither.sql.plan import Key

# Registration refuses larger tables, so sums of small values provably fit 64 bits.
MOST_ROWS = 2**36
MOST_GROUPS = 10_000_000  # that one answer may have


@dataclass(frozen=True)
class Statement:
    """Generated SQL over the snapshot's table `rows`: result columns k0.. (codes or NULL), then m0.. (integers)."""

    table: Table
    sql: str
    keys: tuple[Key, ...]
    measures: int
