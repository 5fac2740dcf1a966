"""The rows of the catalog: made of the declarations that a principal may see, and of nothing else.

How many rows a table has, when it was loaded and what is in it are no declarations, so that no relation says them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dither.escape import visible
from dither.server.wire.catalog.identities import (
    CLASSES,
    DATABASE,
    DEFAULT_COLLATION,
    HEAP,
    NAMESPACES,
    OWNER,
    PG_CATALOG,
    PROCEDURES,
    PUBLIC,
    TYPES,
    WORDS,
    table_numbers,
)
from dither.server.wire.catalog.relations import schema_of

if TYPE_CHECKING:
    import pyarrow as pa

    from dither.policy.catalog import PublicTable, Table
    from dither.policy.columns import Column

_KINDS = {"int": 20, "fixed": 1700, "bool": 16, "date": 1082, "timestamp": 1184, "category": 25, "text": 25}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ColumnRow:
    """A column as the catalog has it."""

    name: str
    place: int
    oid: int
    modifier: int
    nullable: bool
    about: str


@dataclass(frozen=True)
class Declarations:
    """What one principal may see, and who it is."""

    tables: Sequence[Table | PublicTable]
    user: str
    database: str
    settings: Sequence[tuple[str, str, str]] = ()

    @cached_property
    def numbers(self) -> dict[str, int]:
        return table_numbers(table.name for table in self.tables)

    def relation(self, name: tuple[str, str]) -> pa.Table:
        """A relation with its rows; columns that a row does not name are NULL, or false, or 0."""
        import pyarrow as pa

        schema = schema_of(name)
        rows = list(_MAKERS[name](self)) if name in _MAKERS else []
        columns = []
        for field in schema:
            usual = _USUAL.get(str(field.type))
            columns.append(pa.array([row.get(field.name, usual) for row in rows], field.type))
        return pa.table(columns, schema=schema)


_USUAL = {"bool": False, "uint32": 0, "int32": 0, "int16": 0, "double": 0.0, "int64": 0}


def columns_of(table: Table | PublicTable) -> Iterator[ColumnRow]:
    """Its owner, where it has a column of that name, and the columns that are declared."""
    owner = getattr(table, "owner", "")
    place = 1
    if owner and owner not in table.columns:
        kind = 25 if getattr(table, "owner_type", "") == "VARCHAR" else 20
        yield ColumnRow(owner, place, kind, -1, False, "the owner of the row: counted, never shown")
        place += 1
    for name, column in table.columns.items():
        yield ColumnRow(name, place, _KINDS.get(column.kind, 25), _modifier(column), column.nullable, repr(column))
        place += 1


def _modifier(column: Column) -> int:
    """The precision and scale of a decimal, as PostgreSQL packs them."""
    return ((38 << 16) | getattr(column, "decimals", 0)) + 4 if column.kind == "fixed" else -1


def _about(table: Table | PublicTable) -> str:
    people = getattr(table, "people", None)
    if people is None:
        return "a public table"
    return f"about {people}; at most {getattr(table, 'max_rows_per_owner', 1)} rows of each owner"


def _classes(known: Declarations) -> Iterator[Row]:
    for table in known.tables:
        natts = sum(1 for _ in columns_of(table))
        yield {
            "oid": known.numbers[table.name], "relname": table.name, "relnamespace": PUBLIC, "relowner": OWNER,
            "reltype": known.numbers[table.name] + 1, "relam": HEAP, "reltuples": -1.0, "relpersistence": "p",
            "relkind": "r", "relnatts": natts, "relispopulated": True, "relreplident": "d",
        }  # fmt: skip


def _attributes(known: Declarations) -> Iterator[Row]:
    sizes = {row.oid: row.size for row in TYPES}
    for table in known.tables:
        for column in columns_of(table):
            yield {
                "attrelid": known.numbers[table.name], "attname": column.name, "atttypid": column.oid,
                "attlen": sizes[column.oid], "attnum": column.place, "attcacheoff": -1, "atttypmod": column.modifier,
                "attalign": "d", "attstorage": "p", "attcompression": "", "attnotnull": not column.nullable,
                "attidentity": "", "attgenerated": "", "attislocal": True, "attstattarget": -1,
                "attcollation": DEFAULT_COLLATION if column.oid == 25 else 0,
            }  # fmt: skip


def _types(known: Declarations) -> Iterator[Row]:
    common = {"typnamespace": PG_CATALOG, "typowner": OWNER, "typisdefined": True, "typtypmod": -1, "typalign": "i",
              "typstorage": "p", "typdelim": ","}  # fmt: skip
    for row in TYPES:
        kind = "p" if row.category in "PX" else "b"
        text = DEFAULT_COLLATION if row.category == "S" else 0
        yield {**common, "oid": row.oid, "typname": row.name, "typlen": row.size, "typtype": kind,
               "typcategory": row.category, "typarray": row.array, "typbyval": 0 < row.size <= 8,
               "typinput": PROCEDURES["textin"], "typreceive": PROCEDURES["textrecv"],
               "typcollation": text}  # fmt: skip
        if row.array:
            yield {**common, "oid": row.array, "typname": f"_{row.name}", "typlen": -1, "typtype": "b",
                   "typcategory": "A", "typelem": row.oid, "typinput": PROCEDURES["array_in"],
                   "typreceive": PROCEDURES["array_recv"]}  # fmt: skip
    for table in known.tables:
        number = known.numbers[table.name]
        yield {**common, "oid": number + 1, "typname": table.name, "typnamespace": PUBLIC, "typlen": -1,
               "typtype": "c", "typcategory": "C", "typrelid": number}  # fmt: skip


def _procedures(known: Declarations) -> Iterator[Row]:
    for name, number in PROCEDURES.items():
        yield {"oid": number, "proname": name, "pronamespace": PG_CATALOG, "proowner": OWNER, "prokind": "f"}


def _namespaces(known: Declarations) -> Iterator[Row]:
    return ({"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in NAMESPACES.items())


def _databases(known: Declarations) -> Iterator[Row]:
    yield {"oid": DATABASE, "datname": known.database, "datdba": OWNER, "encoding": 6, "datlocprovider": "c",
           "datallowconn": True, "datconnlimit": -1, "datcollate": "C", "datctype": "C",
           "dattablespace": 1663}  # fmt: skip


def _descriptions(known: Declarations) -> Iterator[Row]:
    for table in known.tables:
        own = {"objoid": known.numbers[table.name], "classoid": CLASSES["pg_class"]}
        yield {**own, "objsubid": 0, "description": visible(_about(table))}
        for column in columns_of(table):
            yield {**own, "objsubid": column.place, "description": visible(column.about)}


def _roles(known: Declarations) -> Iterator[Row]:
    yield {"oid": OWNER, "rolname": known.user, "rolcanlogin": True, "rolinherit": True, "rolconnlimit": -1}


def _users(known: Declarations) -> Iterator[Row]:
    yield {"usename": known.user, "usesysid": OWNER}


def _settings(known: Declarations) -> Iterator[Row]:
    for name, value, about in known.settings:
        first = "" if name.startswith("dither.") else value
        yield {"name": name, "setting": value, "category": "dither", "short_desc": about, "context": "user",
               "vartype": "string", "source": "session", "boot_val": first, "reset_val": first}  # fmt: skip


def _tables(known: Declarations) -> Iterator[Row]:
    return ({"schemaname": "public", "tablename": table.name, "tableowner": known.user} for table in known.tables)


def _schemata(known: Declarations) -> Iterator[Row]:
    return ({"catalog_name": known.database, "schema_name": name, "schema_owner": known.user} for name in NAMESPACES)


def _information_tables(known: Declarations) -> Iterator[Row]:
    for table in known.tables:
        yield {"table_catalog": known.database, "table_schema": "public", "table_name": table.name,
               "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}  # fmt: skip


def _information_columns(known: Declarations) -> Iterator[Row]:
    names = {row.oid: row.name for row in TYPES}
    for table in known.tables:
        for column in columns_of(table):
            whole = 64 if column.oid == 20 else None
            fixed = column.modifier - 4 if column.modifier > 0 else None
            yield {
                "table_catalog": known.database, "table_schema": "public", "table_name": table.name,
                "column_name": column.name, "ordinal_position": column.place,
                "is_nullable": "YES" if column.nullable else "NO", "data_type": WORDS[column.oid],
                "numeric_precision": whole if fixed is None else fixed >> 16,
                "numeric_precision_radix": 2 if whole else 10 if fixed is not None else None,
                "numeric_scale": 0 if whole else None if fixed is None else fixed & 0xFFFF,
                "character_maximum_length": None, "character_octet_length": None, "interval_precision": None,
                "datetime_precision": 6 if column.oid == 1184 else 0 if column.oid == 1082 else None,
                "udt_catalog": known.database, "udt_schema": "pg_catalog", "udt_name": names[column.oid],
                "dtd_identifier": str(column.place), "is_identity": "NO", "is_generated": "NEVER",
                "is_updatable": "NO",
            }  # fmt: skip


def _privileges(known: Declarations) -> Iterator[Row]:
    for table in known.tables:
        yield {"grantor": known.user, "grantee": known.user, "table_catalog": known.database, "table_schema": "public",
               "table_name": table.name, "privilege_type": "SELECT", "is_grantable": "NO",
               "with_hierarchy": "NO"}  # fmt: skip


_MAKERS: dict[tuple[str, str], Callable[[Declarations], Iterator[Row]]] = {
    ("pg_catalog", "pg_class"): _classes,
    ("pg_catalog", "pg_attribute"): _attributes,
    ("pg_catalog", "pg_type"): _types,
    ("pg_catalog", "pg_namespace"): _namespaces,
    ("pg_catalog", "pg_proc"): _procedures,
    ("pg_catalog", "pg_database"): _databases,
    ("pg_catalog", "pg_description"): _descriptions,
    ("pg_catalog", "pg_roles"): _roles,
    ("pg_catalog", "pg_user"): _users,
    ("pg_catalog", "pg_settings"): _settings,
    ("pg_catalog", "pg_tables"): _tables,
    ("pg_catalog", "pg_am"): lambda known: iter([{"oid": HEAP, "amname": "heap", "amtype": "t"}]),
    ("pg_catalog", "pg_collation"): lambda known: iter(
        [{"oid": DEFAULT_COLLATION, "collname": "default", "collnamespace": PG_CATALOG, "collprovider": "d"}]
    ),
    ("pg_catalog", "pg_tablespace"): lambda known: iter([{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}]),
    ("information_schema", "schemata"): _schemata,
    ("information_schema", "tables"): _information_tables,
    ("information_schema", "columns"): _information_columns,
    ("information_schema", "table_privileges"): _privileges,
    ("information_schema", "role_table_grants"): _privileges,
}
