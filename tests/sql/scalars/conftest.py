"""Expressions by themselves: bound to declared columns, judged by the guard, run by a real engine on nasty rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.group_keys import group_key
from dither.sql.expressions import Expression, Numeric
from dither.sql.guard.facts.knowledge import stored
from dither.sql.guard.ranges import interval, verify
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.writer import Writer
from dither.sql.plan.nodes import Scan
from dither.sql.scalars.labels import LabelReader
from dither.sql.scalars.rules import RULES
from dither.sql.scalars.scalar import Scalars, Value
from dither.sql.scalars.scope import Relation, Scope
from dither.sql.text import limits, parse
from dither.sql.text.faithfulness import faithful

COLUMNS: dict[str, Column] = {
    "x": Int(-100, 100),
    "n": Int(0, 6, nullable=False, default=0),
    "money": Fixed("-50", "50", decimals=2),
    "region": Category(["north", "South", "ÉTÉ", "a b "]),
    "level": Category(["low", "high"], nullable=False, default="low"),
    "name": Text(max_length=40),
    "sick": Bool(),
    "day": Date("1899-12-01", "2100-03-31"),
    "near": Date("2024-01-15", "2024-03-10"),
    "at": Timestamp("1899-12-01T00:00:00", "2100-03-31T23:59:59.999999"),
}

EPOCH = datetime.datetime(1970, 1, 1)
DAYS = (
    "1899-12-01", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01", "1972-02-29", "1999-12-31", "2000-02-29",
    "2000-03-01", "2020-12-31", "2021-01-03", "2021-01-04", "2023-02-28", "2024-01-31", "2024-02-29", "2024-03-31",
    "2024-10-27", "2024-12-30", "2026-12-28", "2100-02-28", "2100-03-31",
)  # fmt: skip
MOMENTS = (
    "1899-12-01T00:00:00", "1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "1916-04-30T22:00:00",
    "1980-04-06T00:59:59.999999", "1980-04-06T01:00:00", "2024-03-31T00:59:59.999999", "2024-03-31T01:00:00",
    "2024-10-27T00:30:00", "2024-10-27T01:30:00", "2024-10-27T00:59:59.999999", "2024-10-27T01:00:00",
    "2024-02-29T23:30:00", "2023-12-31T23:00:00", "2099-12-31T23:59:59", "2100-03-31T23:59:59.999999",
)  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "x": [-100, 100, 0, None, -1, 1, 7, -7, 50, -51, 10, -10, 5, -5],
    "n": [0, 1, 2, 3, 4, 5, 6],
    "money": [-5000, 5000, 0, None, 1, -1, 50, -50, 150, -150, 149, -149, 249, 250, -250, 1234, 5],
    "region": [0, 1, 2, 3, None],
    "level": [0, 1],
    "name": [
        "",
        "a",
        "A",
        " a ",
        "été",
        "ÉTÉ",
        "e\u0301",
        "😀",
        None,
        "a\tb",
        "  ",
        "straße",
        "STRASSE",
        "K",
        "\u212a",
        "100%",
    ],
    "sick": [1, 0, None],
    "day": [*((datetime.date.fromisoformat(text) - EPOCH.date()).days for text in DAYS), None],
    "near": [*range(19737, 19793), None],
    "at": [
        *((datetime.datetime.fromisoformat(text) - EPOCH) // datetime.timedelta(microseconds=1) for text in MOMENTS),
        None,
    ],
}
ROWS = 240
Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """Rows, and what expressions are on each of them."""

    table: Table = field(repr=False)
    rows: list[Row] = field(repr=False)
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    def syntax(self, text: str) -> tuple[Scalars, exp.Expr, parse.Parsed]:
        source = limits.tokens(f"SELECT COUNT({text}) FROM t")
        parsed = parse.parse(source, Catalog({"t": self.table}))
        called = {name: (name, column) for name, column in self.table.columns.items()}
        names = tuple((name, name) for name in called)
        scope = Scope((Relation("t", Scan(self.table, names), called, people="people"),), source)
        return Scalars(scope, LabelReader(source), RULES), parsed.select.expressions[0].this, parsed

    def bind(self, text: str) -> Value:
        scalars, node, parsed = self.syntax(text)
        value = scalars.value(node)
        faithful(parsed)
        return value

    def key(self, text: str) -> tuple[Any, Any]:
        scalars, node, parsed = self.syntax(text)
        key = group_key(scalars, node)
        faithful(parsed)
        return key

    @property
    def schema(self) -> dict[str, Any]:
        return {name: stored(name, column) for name, column in self.table.columns.items()}

    def run(self, node: Expression) -> list[Any]:
        """The node on every row, once the guard has passed it; a number must lie where node and guard say."""
        verify(node, self.schema)
        writer = Writer(DUCKDB, {name: DUCKDB.name(name) for name in self.table.columns}, self.schema)
        found = [
            value
            for (value,) in self.connection.execute(f'SELECT {writer.any(node)} FROM "rows" ORDER BY "i"').fetchall()
        ]
        if isinstance(node, Numeric):
            low, high = interval(node, self.schema)
            for value in found:
                assert value is not None or node.nullable
                assert value is None or (low <= value <= high and node.low <= value <= node.high)
        return found

    def values(self, text: str) -> list[Any]:
        return self.run(self.bind(text).node)


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    rows = [
        {"i": i} | {name: values[(i + i // len(values) * 3) % len(values)] for name, values in VALUES.items()}
        for i in range(ROWS)
    ]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Kolkata'")
    types = {"i": "INTEGER"} | {name: DUCKDB.stored(column) for name, column in COLUMNS.items()}
    connection.execute(f'CREATE TABLE "rows" ({", ".join(f"{DUCKDB.name(n)} {t}" for n, t in types.items())})')
    marks = ", ".join("?" for _ in types)
    connection.executemany(f'INSERT INTO "rows" VALUES ({marks})', [[row[name] for name in types] for row in rows])
    yield Bench(Table("t", "people", "owner_id", 4, COLUMNS), rows, connection)
    connection.close()
