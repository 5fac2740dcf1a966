"""Questions about declared tables: every aggregate, filter, grouping and join that their columns admit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Bool, Category, Coded, Date, Fixed, Int, Text, Timestamp

_FEW_GROUPS = 60


def questions(tables: Sequence[Table | PublicTable]) -> Iterator[str]:
    """SQL about each private table, and about those that can be joined."""
    private = [table for table in tables if isinstance(table, Table)]
    for table in private:
        yield from _of_one(table)
        yield from (_join(table, other) for other in tables if isinstance(other, PublicTable) and _shared(table, other))
        if table.via is not None:
            on = f'a."{table.via.column}" = b."{table.via.key}"'
            yield f'SELECT COUNT(*) FROM "{table.name}" a JOIN "{table.via.table}" b ON {on}'
    for one, other in combinations(private, 2):
        if one.people == other.people and not (one.row_level or other.row_level or one.via or other.via):
            on = f'a."{one.owner}" = b."{other.owner}"'
            yield f'SELECT COUNT(*) FROM "{one.name}" a JOIN "{other.name}" b ON {on}'


def _of_one(table: Table) -> Iterator[str]:
    source = f'FROM "{table.name}"'
    yield f"SELECT COUNT(*) {source}"
    if not table.row_level:
        yield f'SELECT COUNT(DISTINCT "{table.owner}") {source}'
    numbers = [name for name, column in table.columns.items() if isinstance(column, (Int, Fixed))]
    groups = [name for name, column in table.columns.items() if 0 < (column.key_count or 0) <= _FEW_GROUPS]
    for name in numbers:
        column = table.columns[name]
        middle = (column.low + column.high) // 2 / 10**column.decimals if isinstance(column, Coded) else 0
        yield f'SELECT SUM("{name}"), AVG("{name}"), COUNT("{name}") {source}'
        yield f'SELECT VARIANCE("{name}") {source}'
        yield f'SELECT MEDIAN("{name}") {source}'
        yield f'SELECT COUNT(*) {source} WHERE "{name}" > {middle!r}'
        yield f'SELECT SUM(CASE WHEN "{name}" > {middle!r} THEN "{name}" * 1000 END) {source}'
    for name in groups:
        measured = f', AVG("{numbers[0]}")' if numbers else ""
        yield f'SELECT "{name}", COUNT(*){measured} {source} GROUP BY "{name}"'
    for one, other in combinations(groups[:4], 2):
        yield f'SELECT "{one}", "{other}", COUNT(*) {source} GROUP BY "{one}", "{other}"'
    for name, column in table.columns.items():
        if isinstance(column, Text):
            yield f"SELECT COUNT(*) {source} WHERE \"{name}\" LIKE 'a%'"
            yield f'SELECT "{name}", COUNT(*) {source} GROUP BY "{name}"'
        elif isinstance(column, (Category, Bool, Date, Timestamp)):
            yield f'SELECT COUNT("{name}") {source} WHERE "{name}" IS NOT NULL'


def _shared(table: Table, public: PublicTable) -> list[str]:
    """Key columns of a public table that the private one has under the same name; all of them, or none."""
    shared = [name for name in public.key if name in table.columns]
    return shared if len(shared) == len(public.key) else []


def _join(table: Table, public: PublicTable) -> str:
    on = " AND ".join(f'a."{name}" = b."{name}"' for name in _shared(table, public))
    return f'SELECT COUNT(*) FROM "{table.name}" a JOIN "{public.name}" b ON {on}'
