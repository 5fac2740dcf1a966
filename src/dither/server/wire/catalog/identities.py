"""The numbers of things in the catalog, and the types that there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

PG_CATALOG, PUBLIC, INFORMATION_SCHEMA = 11, 2200, 13_000
NAMESPACES = {"pg_catalog": PG_CATALOG, "public": PUBLIC, "information_schema": INFORMATION_SCHEMA}
OWNER, DATABASE, HEAP, DEFAULT_COLLATION = 10, 5, 2, 100
CLASSES = {"pg_class": 1259, "pg_type": 1247, "pg_namespace": 2615, "pg_database": 1262, "pg_proc": 1255,
           "pg_constraint": 2606, "pg_attrdef": 2604, "pg_description": 2609, "pg_index": 2610,
           "pg_rewrite": 2618, "pg_trigger": 2620, "pg_am": 2601, "pg_operator": 2617, "pg_extension": 3079,
           "pg_collation": 3456, "pg_policy": 3256, "pg_language": 2612, "pg_publication": 6104}  # fmt: skip
PROCEDURES = {"array_in": 750, "textin": 46, "array_recv": 2400, "textrecv": 2414}  # by which types are told apart
_FIRST = 16_384  # that PostgreSQL gives to what users make
_ROOM = 2**30


class TypeRow(NamedTuple):
    """A type: its number, that of its arrays, its name, how SQL calls it, its size and its category."""

    oid: int
    array: int
    name: str
    words: str
    size: int
    category: str


TYPES = tuple(
    TypeRow(*row)
    for row in (
        (16, 1000, "bool", "boolean", 1, "B"),
        (17, 1001, "bytea", "bytea", -1, "U"),
        (18, 1002, "char", '"char"', 1, "Z"),
        (19, 1003, "name", "name", 64, "S"),
        (20, 1016, "int8", "bigint", 8, "N"),
        (21, 1005, "int2", "smallint", 2, "N"),
        (22, 1006, "int2vector", "int2vector", -1, "A"),
        (23, 1007, "int4", "integer", 4, "N"),
        (24, 1008, "regproc", "regproc", 4, "N"),
        (25, 1009, "text", "text", -1, "S"),
        (26, 1028, "oid", "oid", 4, "N"),
        (30, 1013, "oidvector", "oidvector", -1, "A"),
        (114, 199, "json", "json", -1, "U"),
        (700, 1021, "float4", "real", 4, "N"),
        (701, 1022, "float8", "double precision", 8, "N"),
        (705, 0, "unknown", "unknown", -2, "X"),
        (1042, 1014, "bpchar", "character", -1, "S"),
        (1043, 1015, "varchar", "character varying", -1, "S"),
        (1082, 1182, "date", "date", 4, "D"),
        (1083, 1183, "time", "time without time zone", 8, "D"),
        (1114, 1115, "timestamp", "timestamp without time zone", 8, "D"),
        (1184, 1185, "timestamptz", "timestamp with time zone", 8, "D"),
        (1186, 1187, "interval", "interval", 16, "T"),
        (1266, 1270, "timetz", "time with time zone", 12, "D"),
        (1700, 1231, "numeric", "numeric", -1, "N"),
        (2205, 2210, "regclass", "regclass", 4, "N"),
        (2206, 2211, "regtype", "regtype", 4, "N"),
        (2249, 2287, "record", "record", -1, "P"),
        (2278, 0, "void", "void", 4, "P"),
        (2950, 2951, "uuid", "uuid", 16, "U"),
        (3802, 3807, "jsonb", "jsonb", -1, "U"),
    )
)
BY_NAME = {name: row.oid for row in TYPES for name in (row.name, row.words)} | {
    f"{name}[]": row.array for row in TYPES for name in (row.name, row.words) if row.array
} | {"int": 23, "decimal": 1700, "float": 701, "double": 701}  # fmt: skip
WORDS = {row.oid: row.words for row in TYPES} | {row.array: f"{row.words}[]" for row in TYPES if row.array}


def table_numbers(names: Iterable[str]) -> dict[str, int]:
    """A number for each table: made of its name, so that it stays when others come and go."""
    taken: dict[int, str] = {}
    for name in sorted(names):
        number = crc32(name.encode()) % _ROOM
        while number in taken:
            number += 1
        taken[number] = name
    return {name: _FIRST + 2 * number for number, name in taken.items()}
