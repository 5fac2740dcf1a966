"""Reads back what statements rely on: bounds, NULLs, keys, structure, owners and ranks. Anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER

_name = SPARK.name


def verify(one: Callable[[str], tuple[Any, ...]], table: Table, view: str, rows: int) -> tuple[int, int]:
    """How many owners there are, and rows beyond those that count of each; `one` is the first row of a query."""
    asked = [
        "COUNT(*)",
        "COUNT(*) FILTER (WHERE `_rank` = 1)",
        f"COUNT(*) FILTER (WHERE `_rank` > {table.max_rows_per_owner})",
        f"COUNT({OWNER})",
        *(SPARK.outside(name, column) for name, column in table.columns.items()),
    ]
    stored, owners, beyond, owned, *wrong = one(f"SELECT {_listed(asked)} FROM {view}")
    # Ranks from 1 up to their number, no two alike, are each of them once.
    ranks = f"MIN(`_rank`) AS a, MAX(`_rank`) AS z, COUNT(*) AS n, COUNT(DISTINCT `_rank`) AS d FROM {view}"
    counted, misranked = one(
        "SELECT COUNT(*) AS n0, COUNT(*) FILTER (WHERE a <> 1 OR z <> n OR d <> n) AS n1 "
        f"FROM (SELECT {ranks} GROUP BY {OWNER})"
    )
    most = [(table.key, 1)] if table.key else []
    most += [((name,), limit) for name, limit in table.structure.rows_in.items()]
    for names, limit in most:
        alike = ", ".join(_name(name) for name in (OWNER, *names))
        wrong += one(f"SELECT COUNT(*) AS n FROM (SELECT 1 FROM {view} GROUP BY {alike} HAVING COUNT(*) > {limit})")
    for name, limit in table.structure.values.items():
        different = f"SELECT DISTINCT {OWNER}, {_name(name)} FROM {view}"
        many = f"SELECT 1 FROM ({different}) GROUP BY {OWNER} HAVING COUNT(*) > {limit}"
        wrong += one(f"SELECT COUNT(*) AS n FROM ({many})")
    if (stored, owned, counted) != (rows, rows, owners) or any(wrong) or misranked:
        raise refused(table)
    return owners, beyond


def verify_public(one: Callable[[str], tuple[Any, ...]], table: PublicTable, view: str, rows: int) -> None:
    """The same for a public table: its values, and that no two rows have one key."""
    asked = ["COUNT(*)", *(SPARK.outside(name, column) for name, column in table.stored.items())]
    stored, *wrong = one(f"SELECT {_listed(asked)} FROM {view}")
    alike = ", ".join(map(_name, table.key))
    wrong += one(f"SELECT COUNT(*) AS n FROM (SELECT 1 FROM {view} GROUP BY {alike} HAVING COUNT(*) > 1)")
    if stored != rows or any(wrong):
        raise refused(table)


def refused(table: Table | PublicTable) -> PolicyError:
    """What is raised where a snapshot is not as it should be."""
    return PolicyError(f"table {table.name!r}: the snapshot does not hold what was declared; nothing was stored.")


def _listed(asked: list[str]) -> str:
    return ", ".join(f"{sql} AS n{place}" for place, sql in enumerate(asked))
