"""A table whose rows hold every extreme that its declarations allow, stored as an engine stores a snapshot."""

from __future__ import annotations

import datetime
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower

# Helpers that tests import by name: the reference evaluator, and the questions of the neighbour harness.
_HERE = Path(__file__).parent
_HELPERS = {
    f"{prefix}_{name}": place / f"{name}.py"
    for prefix, place, names in (
        ("sql_reference", _HERE / "reference", ("terms", "scalars", "functions", "aggregates", "relations", "answers")),
        ("sql_reference", _HERE / "reference", ("exactly",)),
        ("threats", _HERE.parent / "threats", ("population", "generator")),
    )
    for name in names
}
for _module, _path in _HELPERS.items():
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, _path)
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

BIG = 2**62
ROWS = 72
COLUMNS = {
    "id": Int(0, ROWS - 1, nullable=False, default=0),
    "small": Int(-128, 127),
    "big": Int(-BIG, BIG),
    "few": Int(0, 3, nullable=False, default=0),
    "money": Fixed("-1000", "1000", decimals=2),
    "region": Category(["north", "south", "été", "100%", "a_b", "a\\b"]),
    "name": Text(),
    "sick": Bool(),
    "day": Date("1960-01-01", "2030-12-31"),
    "at": Timestamp("1960-01-01", "2030-12-31"),
}


def day(text: str) -> int:
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


def instant(text: str) -> int:
    read = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return (read - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


VALUES: dict[str, list[Any]] = {
    "small": [-128, 127, 0, None, -1, 1, 7, -7],
    "big": [-BIG, BIG, 0, None, 1, -1, 10**9, -(10**18) + 1, 3],
    "few": [0, 1, 2, 3, 3],
    "money": [-100000, 100000, 0, None, 1, -1, 12345, -250, 50, -99999, 7],
    "region": [0, 1, 2, 3, 4, 5, None],
    "name": [
        "",
        "a",
        "A",
        "été",
        "e\u0301",
        "100%",
        "a_b",
        "a\\b",
        "a\nb",
        "😀",
        "x😀y",
        "'; --",
        None,
        "aXb",
        "\uffff",
    ],
    "sick": [1, 0, None],
    "day": [day("1960-01-01"), day("2030-12-31"), 0, None, day("2024-02-29")],
    "at": [instant("1960-01-01"), instant("2030-12-31"), 0, None, instant("2024-02-29T12:30:00.000001"), -1],
}


@dataclass(frozen=True)
class Snapshot:
    """Rows as stored, and what a query computes exactly over them."""

    catalog: Catalog
    rows: list[dict[str, Any]]
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    def exact(self, text: str, **options: Any) -> list[tuple[Any, ...]]:
        """The rows of each statement a query becomes, after the guard has passed it."""
        aggregates = plan(read(text, self.catalog), **options)
        check(aggregates)
        return [row for one in aggregates for row in self.connection.execute(lower(one).sql).fetchall()]

    def by_row(self, expression: str) -> dict[int, int | None]:
        """A numeric expression on every row: what it sums to there, or None where it is NULL."""
        found = self.exact(f"SELECT id, SUM({expression}), COUNT({expression}) FROM t GROUP BY id")
        return {int(key): value if count else None for key, value, count in found}

    def where(self, condition: str) -> set[int]:
        """The rows for which a condition is true. One that narrows the key's values also changes their codes."""
        text = f"SELECT id, COUNT(*) FROM t WHERE {condition} GROUP BY id"
        (key,) = read(text, self.catalog).keys
        return {int(key.declaration.decode(code)) for code, _ in self.exact(text)}


def snapshot_rows() -> list[dict[str, Any]]:
    rows = []
    for i in range(ROWS):
        row = {"id": i} | {name: values[i % len(values)] for name, values in VALUES.items()}
        rows.append(row | {"_owner": i // 4, "_rank": i % 4 + 1})
    return rows


@pytest.fixture(scope="session")
def table() -> Table:
    return Table("t", "people", "owner_id", 4, COLUMNS)


@pytest.fixture(scope="session")
def catalog(table: Table) -> Catalog:
    return Catalog({"t": table})


@pytest.fixture(scope="session")
def snapshot(catalog: Catalog) -> Iterator[Snapshot]:
    rows = snapshot_rows()
    connection = duckdb.connect()
    types = {name: DUCKDB.stored(column) for name, column in COLUMNS.items()} | {"_owner": "BIGINT", "_rank": "INTEGER"}
    connection.execute('CREATE SCHEMA "t_t"')
    columns, marks = ", ".join(f'"{name}" {kind}' for name, kind in types.items()), ", ".join("?" for _ in types)
    connection.execute(f'CREATE TABLE "t_t"."rows" ({columns})')
    values = [[row[name] for name in types] for row in rows]
    connection.executemany(f'INSERT INTO "t_t"."rows" VALUES ({marks})', values)
    yield Snapshot(catalog, rows, connection)
    connection.close()


@pytest.fixture(scope="session")
def campaign() -> Callable[[int], int]:
    """How many examples to try: the number given, times DITHER_CAMPAIGN in a long run."""
    return lambda count: count * int(os.environ.get("DITHER_CAMPAIGN", "1"))
