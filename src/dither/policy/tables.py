"""What is declared about a table, checked as far as it can be without data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.exact.parameters import whole
from dither.policy.catalog import MOST_ROWS, Catalog, EachRow, ForeignKey, PublicTable, Table
from dither.policy.columns import Category, Column, Int, Text
from dither.policy.names import meant
from dither.policy.structure import Structure, checked

Owner = str | ForeignKey | EachRow

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_FOREIGN_KEY = re.compile(r"\s*([A-Za-z]\w*)\s*->\s*([A-Za-z]\w*)\s*\.\s*([A-Za-z]\w*)\s*", re.ASCII)


class Tables(list[Table | PublicTable]):
    """Declarations, which print as people read them."""

    def __repr__(self) -> str:
        return "\n".join(map(_formatted, self)) or "no tables are registered"


def _formatted(table: Table | PublicTable) -> str:
    whose = "public"
    if isinstance(table, Table):
        owner = "each row its own owner" if table.row_level else f"owner {table.via or table.owner}"
        rows = "" if table.row_level else f", at most {counted(table.max_rows_per_owner, 'row')} of each owner"
        structure = f", {table.structure}" if table.structure else ""
        whose = f"of {table.people}, {owner}{rows}{structure}"
    key = f", key {', '.join(table.key)}" if table.key else ""
    most = "" if table.max_rows is None else f", at most {counted(table.max_rows, 'row')} in all"
    return "\n".join(
        [f"{table.name}: {whose}{most}{key}", *(f"  {name}: {kind}" for name, kind in table.columns.items())]
    )


def private_table(
    name: str,
    people: str,
    owner: Owner,
    max_rows_per_owner: int | None,
    columns: Mapping[str, Column],
    key: str | Iterable[str] = (),
    max_rows: int | None = None,
    max_rows_per_owner_in: Mapping[str, int] | None = None,
    max_values_per_owner: Mapping[str, int] | None = None,
) -> Table:
    """A private table's declaration; a foreign key is still to be `linked` to the table that it names."""
    from dither.ledger.names import canonical_name

    _check_name(name)
    _check_columns(name, columns)
    read = read_owner(owner)
    if isinstance(read, ForeignKey):
        read = replace(read, column=_spelling(name, read.column, columns, "its owner's foreign key"))
    elif isinstance(read, str) and not read:
        raise PolicyError(f"table {name!r} needs owner=, the column that says whose row it is.")
    whose = canonical_name(people, "people")
    keys, most = _key(name, key, columns), _most(max_rows)
    structure = Structure(
        _by_column(name, max_rows_per_owner_in, columns, "max_rows_per_owner_in"),
        _by_column(name, max_values_per_owner, columns, "max_values_per_owner"),
    )
    if isinstance(read, EachRow):
        if max_rows_per_owner not in (None, 1):
            raise PolicyError(
                f"table {name!r}: each row is its own owner, so max_rows_per_owner is 1; got {max_rows_per_owner!r}."
            )
        if keys:
            raise PolicyError(f"table {name!r}: each row is its own owner, so a key would say nothing; leave it out.")
        if structure:
            raise PolicyError(
                f"table {name!r}: each row is its own owner, so max_rows_per_owner_in and max_values_per_owner would "
                "say nothing; leave them out."
            )
        return Table(name, whose, "", 1, dict(columns), max_rows=most)
    if max_rows_per_owner is None:
        raise PolicyError(f"table {name!r} needs max_rows_per_owner=, the rows that count of each owner.")
    rows = whole(max_rows_per_owner, "max_rows_per_owner", most=2**31 - 1)
    column, via = (read.column, read) if isinstance(read, ForeignKey) else (read, None)
    structure = checked(structure, name, rows)
    return Table(name, whose, column, rows, dict(columns), key=keys, via=via, max_rows=most, structure=structure)


def public_table(
    name: str, columns: Mapping[str, Column], key: str | Iterable[str], max_rows: int | None = None
) -> PublicTable:
    """A public table's declaration."""
    _check_name(name)
    _check_columns(name, columns)
    keys = _key(name, key, columns)
    if not keys:
        raise PolicyError(f"public table {name!r} needs key=, the columns in which no two of its rows are the same.")
    return PublicTable(name, dict(columns), keys, max_rows=_most(max_rows))


def _most(max_rows: int | None) -> int | None:
    return None if max_rows is None else whole(max_rows, "max_rows", most=MOST_ROWS)


def read_owner(owner: Owner) -> Owner:
    """The owner as it was stated; a foreign key may be written as text.

    >>> read_owner("order_id -> orders.id")
    ForeignKey(column='order_id', table='orders', key='id')
    """
    if isinstance(owner, str):
        found = _FOREIGN_KEY.fullmatch(owner)
        return ForeignKey(*found.groups()) if found else owner
    if isinstance(owner, (ForeignKey, EachRow)):
        return owner
    raise PolicyError(f"owner= is a column of the source, a dt.ForeignKey or dt.EACH_ROW; got {type(owner).__name__}.")


def linked(table: Table, catalog: Catalog) -> Table:
    """The table with the owner that its foreign key leads to, if it leads to one; and how its people store owners."""
    if table.via is None:
        return table
    parent, via = catalog.table(table.via.table), table.via
    if parent.people != table.people:
        raise PolicyError(
            f"table {table.name!r} is of {table.people!r} and {parent.name!r} of {parent.people!r}; a foreign key "
            "leads to a table of the same people."
        )
    if parent.row_level:
        raise PolicyError(
            f"table {parent.name!r}: each row is its own owner, which no other table can refer to; register it with "
            "the column that identifies its rows as owner=."
        )
    if [name.lower() for name in parent.key] != [via.key.lower()]:
        stated = f"key={', '.join(parent.key)}" if parent.key else "no key="
        raise PolicyError(
            f"{via} needs {via.key!r} to be the key of {parent.name!r}, which is declared with {stated}; drop and "
            f"register {parent.name!r} with key={via.key!r} first."
        )
    key = parent.key[0]
    mine, theirs = table.columns[via.column], parent.columns[key]
    if not _comparable(mine, theirs):
        raise PolicyError(
            f"{via} compares {type(mine).__name__} with {type(theirs).__name__}; declare both as Int, both as Text, or "
            "both as Category with the same labels."
        )
    if any(name.lower() == parent.owner.lower() for name in table.columns):
        raise PolicyError(
            f"table {table.name!r} declares a column {parent.owner!r}, which is what questions call the owner that "
            f"{via} leads to; leave it out, or name it as owner= if it is the owner."
        )
    return replace(table, owner=parent.owner, via=ForeignKey(via.column, parent.name, key))


def _comparable(mine: Column, theirs: Column) -> bool:
    if isinstance(mine, Category) and isinstance(theirs, Category):
        return mine.values == theirs.values
    return type(mine) is type(theirs) and isinstance(mine, (Int, Text))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PolicyError(f"a table name starts with a letter and has letters, digits and _; got {name!r}.")


def _check_columns(table: str, columns: Mapping[str, Column]) -> None:
    if not columns:
        raise PolicyError(f'table {table!r} declares no columns; for example columns={{"age": dt.Int(0, 120)}}.')
    seen: set[str] = set()
    for column, kind in columns.items():
        if not isinstance(column, str) or not _NAME.fullmatch(column):
            what = f"a column name starts with a letter and has letters, digits and _; got {column!r}."
            raise PolicyError(f"{what} Choose such a name, and say source={column!r} in its declaration.")
        if column.lower() in seen:
            raise PolicyError(f"column {column!r} is declared twice (names are matched without regard to case).")
        seen.add(column.lower())
        if not isinstance(kind, Column):
            raise PolicyError(
                f"column {column!r} needs a declaration such as dt.Int(0, 120); got {type(kind).__name__}."
            )


def _key(table: str, key: str | Iterable[str], columns: Mapping[str, Column]) -> tuple[str, ...]:
    named = (key,) if isinstance(key, str) else tuple(key)
    if not all(isinstance(name, str) for name in named):
        raise PolicyError(f"table {table!r}: key= names one or several declared columns; got {key!r}.")
    found = tuple(_spelling(table, name, columns, "its key") for name in named)
    if len(set(found)) != len(found):
        raise PolicyError(f"table {table!r}: key= names a column twice: {', '.join(found)}.")
    return found


def _by_column(
    table: str, stated: Mapping[str, int] | None, columns: Mapping[str, Column], what: str
) -> dict[str, int]:
    """Numbers by the declared spelling of their columns' names."""
    if stated is not None and not (isinstance(stated, Mapping) and all(isinstance(name, str) for name in stated)):
        raise PolicyError(f'table {table!r}: {what}= states numbers by column, such as {{"day": 1}}; got {stated!r}.')
    found = {_spelling(table, name, columns, f"a column of {what}"): most for name, most in (stated or {}).items()}
    if len(found) != len(stated or {}):
        raise PolicyError(f"table {table!r}: {what}= names a column twice (names are matched without regard to case).")
    return found


def _spelling(table: str, wanted: str, columns: Mapping[str, Column], what: str) -> str:
    """The declared spelling of a column's name."""
    for name in columns:
        if name.lower() == wanted.lower():
            return name
    raise PolicyError(
        f"table {table!r} names {wanted!r} as {what}, which must be a declared column; declared are: "
        f"{', '.join(columns)}. {meant(wanted, columns)}".rstrip()
    )
