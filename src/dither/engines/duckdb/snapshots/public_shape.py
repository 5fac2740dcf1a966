"""Reads the shape of a public table's snapshot: how many of its rows one row of another table can find."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

from dither.engines.duckdb.snapshots.loading import Settings
from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable
from dither.policy.columns import Column, Date, Fixed, Int, Timestamp
from dither.policy.shape import Shape

_MOST_ROWS, _MOST_SWEPT = 1_000_000, 100_000  # of a table of which values are counted, and of which ranges are
_MOST_COLUMNS = 8  # among which pairs are looked at


def stored_shape(snapshot: Path, table: PublicTable, settings: Settings) -> Shape:
    """The shape of the rows that are stored."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=settings.config()) as connection:
            connection.execute(f"ATTACH {quoted(str(snapshot), mark=chr(39))} AS snapshot (READ_ONLY)").fetchall()

            def number(sql: str) -> int:
                ((found,),) = connection.execute(f"SELECT COALESCE(MAX(n), 0) FROM ({sql})").fetchall()
                return int(found)

            rows = number("SELECT COUNT(*) AS n FROM snapshot.rows")
            counted = table.columns if rows <= _MOST_ROWS else ()
            alike = {
                name: number(f"SELECT COUNT(*) AS n FROM snapshot.rows GROUP BY {quoted(name)}") for name in counted
            }
            around = {}
            for pair in permutations(table.columns, 2) if rows <= _MOST_SWEPT else ():
                if _comparable(table, *pair):
                    around[pair] = number(_swept(*pair, closed=True)), number(_swept(*pair, closed=False))
            return Shape(rows, alike, around)
    except duckdb.Error:
        raise PolicyError(f"the snapshot {snapshot.name} cannot be read; refresh its table.") from None


def _comparable(table: PublicTable, first: str, second: str) -> bool:
    """Whether two columns are numbers or moments in the same units, among the first of their kind."""
    kind = _kind(table.columns[first])
    alike = [name for name, column in table.columns.items() if _kind(column) == kind][:_MOST_COLUMNS]
    return kind is not None and first in alike and second in alike


def _kind(column: Column) -> tuple[type[Column], int] | None:
    return (type(column), column.decimals) if isinstance(column, (Int, Fixed, Date, Timestamp)) else None


def _swept(first: str, second: str, *, closed: bool) -> str:
    """SQL of how many ranges hold each end of one: from left to right, ranges begin and end one by one.

    Where one ends and another begins at the same point, closed ones hold it both, and others do not hold anything
    together. NULL is no end of a range, and one that ends before it begins holds nothing.
    """
    a, b = quoted(first), quoted(second)
    kept = f"WHERE {a} {'<=' if closed else '<'} {b}"
    ends = f"SELECT {a} AS p, 1 AS s FROM snapshot.rows {kept} UNION ALL SELECT {b}, -1 FROM snapshot.rows {kept}"
    order = "p, s DESC" if closed else "p, s"
    return f"SELECT SUM(s) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS n FROM ({ends})"
