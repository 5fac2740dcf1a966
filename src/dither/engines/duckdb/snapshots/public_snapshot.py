"""Writes the snapshot of a public table: sanitised like any other, without owners and ranks, its key checked.

A join with it multiplies nobody's rows because its key is unique, so that is proven of the stored rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dither.engines.duckdb.snapshots.loading import (
    RECORDS,
    ROWS,
    Settings,
    loading,
    named,
    outside,
    stored_column,
    unfit,
    unread,
)
from dither.engines.duckdb.sources.sources import source_names
from dither.engines.load_report import LoadReport, expectations
from dither.engines.protocol import Progress, check_rows
from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.policy.catalog import PublicTable


def write_public(
    table: PublicTable, source: Any, work: Path, *, settings: Settings, strict: bool, progress: Progress | None
) -> LoadReport:
    """Write the snapshot to work/rows.duckdb. Anything wrong raises PolicyError."""
    with loading(table.name, table.columns, work, settings, progress) as load:
        staged = load.stage(source, source_names(table.columns), load.all_sanitised)
        (rows,) = load.one(f"SELECT COUNT(*) FROM {RECORDS}")
        if not rows or staged.unreadable_lines:
            found = unread(staged.unreadable_lines) if staged.unreadable_lines else "no rows"
            raise PolicyError(f"public table {table.name!r}: the source has {found}; correct it.")
        check_rows(table, rows)
        clamped, replaced = load.changes("true")
        unusable = sum(clamped[name] + replaced[name] for name in table.key)
        if unusable:  # clamped, it would be another row's
            raise PolicyError(
                f"public table {table.name!r}: its key ({', '.join(table.key)}) has {counted(unusable, 'value')} "
                "that the declaration does not allow; widen it, or correct the source."
            )
        if strict:
            load.refuse(unfit(clamped, replaced))
        columns = dict(table.columns)
        load.do(f"CREATE TABLE {ROWS} ({', '.join(stored_column(*item) for item in columns.items())})")
        load.watch("copying", 0.4, 0.95, f"INSERT INTO {ROWS} SELECT {named(list(columns))} FROM {RECORDS}")
        asked = ", ".join(["COUNT(*)", *(outside(*item) for item in columns.items())])
        stored, *wrong = load.one(f"SELECT {asked} FROM {ROWS}")
        if stored != rows or any(wrong):
            raise PolicyError(
                f"public table {table.name!r}: the snapshot does not hold what was declared; nothing was stored."
            )
        (repeated,) = load.one(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {ROWS} GROUP BY {named(table.key)} HAVING COUNT(*) > 1)"
        )
        if repeated:
            raise PolicyError(
                f"public table {table.name!r}: its key ({', '.join(table.key)}) has {counted(repeated, 'value')} "
                "more than once; a key tells every row apart. Correct the source, or name all columns that make it up."
            )
        load.finish()
        expected = expectations(table.columns, replaced)
        return LoadReport(rows, 0, 0, clamped, replaced, 0, utf8=staged.utf8, expected=expected)
