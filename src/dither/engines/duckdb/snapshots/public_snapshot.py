"""Writes the snapshot of a public table: sanitised like any other, without owners and ranks, its key checked.

A join with it multiplies nobody's rows because its key is unique, so that is proven of the stored rows. Texts of which
there are few are stored with their places among all of them, so that they can be keys like declared labels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.engines.duckdb.snapshots.loading import (
    RECORDS,
    ROWS,
    Loading,
    Settings,
    loading,
    named,
    stored_column,
    unfit,
    unread,
)
from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.engines.duckdb.sources.sources import source_names
from dither.engines.load_report import LoadReport, expectations
from dither.engines.protocol import Progress, check_rows
from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.policy.catalog import PublicTable, code_of
from dither.policy.columns import Text
from dither.sql.lowering.duckdb_dialect import DUCKDB

if TYPE_CHECKING:
    import duckdb

MOST_LABELS, MOST_CHARACTERS = 10_000, 1_000_000  # of one column: declarations are kept in one file


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
        listed = replace(table, labels=_labels(load, table))
        columns = dict(listed.stored)
        load.do(f"CREATE TABLE {ROWS} ({', '.join(stored_column(*item) for item in columns.items())})")
        load.watch("copying", 0.4, 0.95, f"INSERT INTO {ROWS} {_with_codes(listed)}")
        asked = ", ".join(["COUNT(*)", *(DUCKDB.outside(*item) for item in columns.items())])
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
        _check_labels(load, listed)
        load.finish()
        expected = expectations(table.columns, replaced)
        return LoadReport(rows, 0, 0, clamped, replaced, 0, utf8=staged.utf8, expected=expected)


def _labels(load: Loading, table: PublicTable) -> dict[str, tuple[str, ...]]:
    """The values of text columns, in the order of code points, where there are few enough to list."""
    found = {}
    for name in (name for name, column in table.columns.items() if isinstance(column, Text)):
        different = f"SELECT DISTINCT {quoted(name)} AS label FROM {RECORDS} WHERE {quoted(name)} IS NOT NULL"
        count, characters = load.one(f"SELECT COUNT(*), COALESCE(SUM(length(label)), 0) FROM ({different})")
        if 0 < count <= MOST_LABELS and characters <= MOST_CHARACTERS:
            (labels,) = load.one(f"SELECT list(label ORDER BY label) FROM ({different})")
            found[name] = tuple(labels)
    return found


def _with_codes(table: PublicTable) -> str:
    """SQL of every record with the places of its texts among the labels."""
    selected = [f"records.{quoted(name)}" for name in table.columns]
    joined = f"{RECORDS} AS records"
    for number, name in enumerate(table.labels):
        own = quoted(name)
        places = (
            f"SELECT label, row_number() OVER (ORDER BY label) - 1 AS code FROM "
            f"(SELECT DISTINCT {own} AS label FROM {RECORDS} WHERE {own} IS NOT NULL)"
        )
        joined += f" LEFT JOIN ({places}) AS places{number} ON records.{own} = places{number}.label"
        selected.append(f"places{number}.code")
    return f"SELECT {', '.join(selected)} FROM {joined}"


def _check_labels(load: Loading, table: PublicTable) -> None:
    """Read back that the place of each stored text is that of its label."""
    for name in table.labels:
        if _read_labels(load.connection, ROWS, name) != table.labels[name]:
            raise PolicyError(
                f"public table {table.name!r}: the snapshot does not hold what was declared; nothing was stored."
            )


def _read_labels(connection: duckdb.DuckDBPyConnection, rows: str, name: str) -> tuple[str, ...]:
    """The texts of a column in the order of their places, which must be 0, 1, 2 and so on; else none."""
    own, code = quoted(name), quoted(code_of(name))
    pairs = connection.execute(
        f"SELECT DISTINCT {code}, {own} FROM {rows} WHERE {code} IS NOT NULL OR {own} IS NOT NULL ORDER BY {code}"
    ).fetchall()
    return tuple(text for _, text in pairs) if [place for place, _ in pairs] == list(range(len(pairs))) else ()


def stored_labels(snapshot: Path, table: PublicTable, settings: Settings) -> dict[str, tuple[str, ...]]:
    """The labels that a public table's snapshot was stored with."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=settings.config()) as connection:
            connection.execute(f"ATTACH {quoted(str(snapshot), mark=chr(39))} AS snapshot (READ_ONLY)").fetchall()
            there = {name for name, *_ in connection.execute("DESCRIBE snapshot.rows").fetchall()}
            listed = [name for name in table.columns if code_of(name) in there]
            return {name: _read_labels(connection, "snapshot.rows", name) for name in listed}
    except duckdb.Error:
        raise PolicyError(f"the snapshot {snapshot.name} cannot be read; refresh its table.") from None
