"""Each row's rank within its owner, in Spark: the order of DuckDB's ranks, whose keyed hash the records carry already.

Rows with the same hash are ordered by their values. DuckDB compares whole numbers that several columns are packed in,
NULL least; one after the other, NULL first, they have the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

from dither.engines.spark.records import DIGEST, place_digest
from dither.policy.catalog import Table
from dither.policy.columns import Coded
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER

_name = SPARK.name


def ranked(table: Table, relation: str) -> str:
    """SQL of the rows of a snapshot."""
    columns = ", ".join(_name(name) for name in (OWNER, *table.columns))
    return f"SELECT {columns}, {_place(table, ())} AS `_rank` FROM {relation}"


def first_of_each_key(table: Table, relation: str) -> str:
    """SQL of one row of each owner and key, the first in the order of ranks."""
    return _kept(relation, f"{_place(table, table.key)} = 1")


def limits(table: Table) -> Iterator[tuple[str, str, str]]:
    """The table's structure, in the order in which it is enforced: of what, by which column, and SQL that is true for
    what is kept."""
    for name, most in table.structure.values.items():
        order = f"{_name(place_digest(table, name))}, {_name(name)} NULLS LAST"
        yield "values", name, f"dense_rank() OVER (PARTITION BY {_name(OWNER)} ORDER BY {order}) <= {most}"
    for name, most in table.structure.rows_in.items():
        yield "rows", name, f"{_place(table, (name,))} <= {most}"


def limited(relation: str, condition: str) -> str:
    """SQL of what is kept of a relation; the condition is over windows."""
    return _kept(relation, condition)


def _kept(relation: str, condition: str) -> str:
    return f"(SELECT * FROM (SELECT *, {condition} AS `_kept` FROM {relation}) WHERE `_kept`)"


def _place(table: Table, names: tuple[str, ...]) -> str:
    """SQL of a row's place among those of its owner with the same values of these columns."""
    alike = ", ".join(_name(name) for name in (OWNER, *names))
    numbers = [f"{_name(name)} NULLS FIRST" for name, column in table.columns.items() if isinstance(column, Coded)]
    texts = [f"{_name(name)} NULLS LAST" for name, column in table.columns.items() if not isinstance(column, Coded)]
    order = ", ".join([_name(DIGEST), *numbers, *texts])
    return f"row_number() OVER (PARTITION BY {alike} ORDER BY {order})"
