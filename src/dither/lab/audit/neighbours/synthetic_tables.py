"""Tables drawn from their declared domains, and one owner who holds what is at and beyond every bound."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither.errors import DitherError
from dither.noise import uniform_below
from dither.policy.catalog import ForeignKey, PublicTable, Table
from dither.policy.columns import Bool, Category, Coded, Column, Date, Fixed, Int, Text, Timestamp

_WORDS = ("", "alice", "bob", "50% off", "a_b", "é", "x" * 60)
_BEYOND: dict[type, tuple[Any, ...]] = {
    Int: (2**62, -(2**62)),
    Fixed: (float("nan"), float("inf"), -float("inf"), 1e300, 5e-324),
    Date: (datetime.date.max, datetime.date(1, 1, 1)),
    Timestamp: (datetime.datetime(9999, 1, 1), datetime.datetime(1, 1, 1)),
    Category: ("undeclared", ""),
    Text: ("%", "_", "\\", "x" * 1001, "'; DROP TABLE rows; --"),
}
_MOST_KEYS = 60


@dataclass(frozen=True)
class Drawn:
    """The rows of one table, each with the number of its owner."""

    table: Table | PublicTable
    owners: list[int]
    rows: list[dict[str, Any]]

    def without(self, owner: int | None) -> Any:
        """An Arrow table to register, all rows of one owner left out."""
        kept = [row for whose, row in zip(self.owners, self.rows, strict=True) if whose != owner]
        return _arrow(self.table, kept)


def draw(tables: Sequence[Table | PublicTable], owners: int = 30, extreme: int = 4217) -> dict[str, Drawn]:
    """Rows for every table: 1 to 5 more than an owner may keep, and of owner `extreme` many more.

    A table whose owners are found through a foreign key gets rows that point at rows of the table it names, where no
    two owners have the same key.
    """
    found: dict[str, Drawn] = {}
    followed = {(t.via.table, t.via.key) for t in tables if isinstance(t, Table) and t.via is not None}
    for table in in_order(tables):
        if isinstance(table, PublicTable):
            rows = list(_public(table))
            found[table.name] = Drawn(table, [-1] * len(rows), rows)
            continue
        if table.via is not None:
            drawn = _following(table, table.via, found[table.via.table])
        else:
            drawn = _owned(table, [*range(1, owners + 1), extreme], extreme)
        for key in [key for name, key in followed if name == table.name]:
            drawn = _apart(drawn, key, extreme)
        found[table.name] = drawn
    return found


def _apart(drawn: Drawn, key: str, extreme: int) -> Drawn:
    """No key is shared: the bounds and what does not fit are the extreme owner's; the others choose before that one."""
    column = drawn.table.columns[key]
    whose: dict[Any, int] = {_stored(column, None): extreme}
    if isinstance(column, Coded):
        whose |= {column.low: extreme, column.high: extreme}
    kept: list[tuple[int, dict[str, Any]]] = []
    for owner, row in sorted(zip(drawn.owners, drawn.rows, strict=True), key=lambda pair: pair[0] == extreme):
        if isinstance(column, Text) and owner != extreme and row[key] is not None:
            row = row | {key: f"{row[key]} of {owner}"}
        if (column.nullable and row[key] is None) or whose.setdefault(_stored(column, row[key]), owner) == owner:
            kept.append((owner, row))
    return Drawn(drawn.table, [owner for owner, _ in kept], [row for _, row in kept])


def _stored(column: Column, value: Any) -> int | str | None:
    """What registration keeps of a value; for one beyond the bounds, what it keeps of NULL."""
    try:
        return column.stored_default if value is None else column.encode(value)
    except DitherError:
        return column.stored_default


def in_order(tables: Sequence[Table | PublicTable]) -> list[Table | PublicTable]:
    """Each table after the one that its foreign key names."""
    left, done = list(tables), list[Table | PublicTable]()
    while left:
        names = {table.name for table in done}
        ready = [t for t in left if isinstance(t, PublicTable) or t.via is None or t.via.table in names]
        done += ready
        left = [table for table in left if table not in ready] if ready else []
    return done


def _owned(table: Table, owners: Sequence[int], extreme: int) -> Drawn:
    whose: list[int] = []
    rows: list[dict[str, Any]] = []
    kept = min(table.max_rows_per_owner, 20)
    for owner in owners:
        count = 4 * kept + 40 if owner == extreme else 1 + one_of(range(kept + 5))
        for number in range(1 if table.row_level else count):
            strange = number // 2 if owner == extreme and number % 2 else None
            row = {name: _value(column, strange) for name, column in table.columns.items()}
            if not table.row_level:
                row[table.owner] = f"owner {owner}" if table.owner_type == "VARCHAR" else owner
            whose.append(owner)
            rows.append(row)
    return Drawn(table, whose, rows)


def _following(table: Table, via: ForeignKey, parent: Drawn) -> Drawn:
    """Up to three rows for each row of the parent."""
    whose: list[int] = []
    rows: list[dict[str, Any]] = []
    for owner, row in zip(parent.owners, parent.rows, strict=True):
        for number in range(one_of(range(4))):
            made = {name: _value(column, number or None) for name, column in table.columns.items()}
            made[via.column] = row.get(via.key)
            whose.append(owner)
            rows.append(made)
    return Drawn(table, whose, rows)


def _public(table: PublicTable) -> Iterator[dict[str, Any]]:
    """Rows whose keys differ in the first key column."""
    first = table.columns[table.key[0]]
    if isinstance(first, Coded):
        values = [_decoded(first, first.low + i) for i in range(min(_MOST_KEYS, first.high - first.low + 1))]
    else:
        values = [f"key {i}" for i in range(_MOST_KEYS)]
    for value in values:
        yield {name: _value(column) for name, column in table.columns.items()} | {table.key[0]: value}


def _value(column: Column, extreme: int | None = None) -> Any:
    """A declared value, or NULL; for the extreme owner in turn the bounds, what lies beyond them, and NULL."""
    if extreme is not None:
        ends = (_decoded(column, column.low), _decoded(column, column.high)) if isinstance(column, Coded) else ()
        special = (*ends, *_BEYOND.get(type(column), ()), None)
        return special[extreme % len(special)]
    if column.nullable and one_of(range(8)) == 0:
        return None
    if isinstance(column, Coded):
        return _decoded(column, column.low + int(uniform_below(column.high - column.low + 1)))
    return one_of(_WORDS)


def one_of(values: Sequence[Any]) -> Any:
    """Any of them."""
    return values[int(uniform_below(len(values)))]


def _decoded(column: Coded, code: int) -> Any:
    value = column.decode(code)
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


def _arrow(table: Table | PublicTable, rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    kinds: Mapping[type, Any] = {
        Int: pa.int64(),
        Fixed: pa.float64(),
        Bool: pa.bool_(),
        Date: pa.date32(),
        Timestamp: pa.timestamp("us"),
        Category: pa.string(),
        Text: pa.string(),
    }
    types = {name: kinds[type(column)] for name, column in table.columns.items()}
    if isinstance(table, Table) and not table.row_level and table.via is None:
        types.setdefault(table.owner, pa.string() if table.owner_type == "VARCHAR" else pa.int64())
    if isinstance(table, Table) and table.via is not None:
        types.setdefault(table.via.column, pa.int64())
    columns = {name: pa.array([_plain(row.get(name), kind) for row in rows], type=kind) for name, kind in types.items()}
    return pa.table(columns)


def _plain(value: Any, kind: Any) -> Any:
    """A value of the kind that its column has: Decimals as floats, ids as texts where owners are texts."""
    if value is None:
        return None
    if str(kind) == "double":
        return float(value)
    return str(value) if str(kind) == "string" else value
