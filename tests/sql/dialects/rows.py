"""One small table of awkward values, and dither's answers about it before any noise."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower

ROWS = 60
LABELS = ["north", "south", "a_b", "Ost"]
COLUMNS: dict[str, Column] = {
    "id": Int(0, ROWS - 1, nullable=False, default=0),
    "a": Int(-100, 100),
    "b": Int(0, 9, nullable=False, default=0),
    "m": Fixed(-50, 50, decimals=2),
    "f": Bool(),
    "d": Date("2019-01-01", "2026-12-31"),
    "ts": Timestamp("2019-01-01", "2026-12-31"),
    "g": Category(LABELS),
    "s": Text(max_length=12),
}
# Decimal numbers are quarters, which binary floats hold exactly: so do SQLite's and DuckDB's sums of them.
_M = ["0.00", "0.25", "0.50", "-0.50", "2.50", "-2.50", "2.75", "-2.25", "3.50", "49.75", "-50.00", "1.00", None]
_A = [0, 1, -1, 7, -7, 100, -100, 45, 44, 3, 10, -10, 99, None, 2]
_D = [
    "2020-01-01", "2020-02-29", "2020-12-31", "2021-01-01", "2021-01-03", "2021-01-04", "2023-12-31", "2024-01-01",
    "2024-02-29", "2024-12-30", "2024-12-31", "2025-03-31", "2025-06-15", None,
]  # fmt: skip
_TIMES = ["00:00:00", "23:59:59", "12:30:45.500000", "06:07:08.000009"]
_S = [
    "",
    "a",
    "A",
    "ab",
    "été",
    "É",
    "100%",
    "a_b",
    "a\\b",
    " pad ",
    "x😀y",
    "\ta",
    None,
    "aXb",
    "50% off",
    "[_]",
    "zz",
]


def values() -> list[dict[str, Any]]:
    """The rows, as any engine may store them; four of each owner."""
    made = []
    for i in range(ROWS):
        day = _D[i * 5 % len(_D)]
        made.append(
            {
                "owner_id": i // 4,
                "id": i,
                "a": _A[i % len(_A)],
                "b": i * 7 % 10,
                "m": None if (m := _M[i * 3 % len(_M)]) is None else Decimal(m),
                "f": [True, False, None][i % 3],
                "d": None if day is None else datetime.date.fromisoformat(day),
                "ts": None
                if i % 11 == 0
                else datetime.datetime.fromisoformat(f"{day or '2022-05-05'} {_TIMES[i % 4]}"),
                "g": [*LABELS, None][i * 2 % 5],
                "s": _S[i % len(_S)],
            }
        )
    return made


@dataclass(frozen=True)
class Exact:
    """Answers what a question asks, exactly: groups with rows, by their keys."""

    catalog: Catalog
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    def answer(self, text: str, dialect: str) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
        """The measures of each group that has rows; decimal numbers as fractions."""
        question = read(text, self.catalog, dialect=dialect)
        aggregates = plan(question)
        check(aggregates)
        assert len(aggregates) == 1, "one statement answers a question of the fuzzer"
        measured = [one.text for one in aggregates[0].measures]
        outputs = [
            (
                measured.index(one.aggregate.measures()[0].text),
                getattr(getattr(one.aggregate, "value", None), "scale", 0),
            )
            for one in question.outputs
        ]
        found: dict[tuple[Any, ...], tuple[Fraction, ...]] = {}
        many = len(question.keys)
        for row in self.connection.execute(lower(aggregates[0]).sql).fetchall():
            key = tuple(
                None if code is None else one.declaration.decode(code)
                for one, code in zip(question.keys, row[:many], strict=True)
            )
            found[tuple(map(plain, key))] = tuple(
                Fraction(int(row[many + place]), 10**scale) for place, scale in outputs
            )
        return found


def plain(value: Any) -> Any:
    """A key in one form, whatever an engine shows it as: moments at midnight are days, numbers are fractions."""
    if isinstance(value, bool) or value is None:
        return None if value is None else Fraction(int(value))
    if isinstance(value, (int, float, Decimal)):
        return Fraction(value)
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def make_exact() -> Exact:
    catalog = Catalog({"t": Table("t", "people", "owner_id", 4, COLUMNS)})
    connection = duckdb.connect()
    connection.execute('CREATE SCHEMA "t_t"')
    types = {name: DUCKDB.stored(column) for name, column in COLUMNS.items()}
    types |= {"_owner": "BIGINT", "_rank": "INTEGER"}
    connection.execute(f'CREATE TABLE "t_t"."rows" ({", ".join(f"{name} {kind}" for name, kind in types.items())})')
    marks = ", ".join("?" for _ in types)
    stored = [
        [_stored(column, row[name]) for name, column in COLUMNS.items()] + [row["owner_id"], row["id"] % 4 + 1]
        for row in values()
    ]
    connection.executemany(f'INSERT INTO "t_t"."rows" VALUES ({marks})', stored)
    return Exact(catalog, connection)


def _stored(column: Column, value: Any) -> Any:
    if value is None or isinstance(column, Text):
        return value
    if isinstance(column, Timestamp):
        return int((value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    return int(column.encode(value))
