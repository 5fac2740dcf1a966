"""One small table of awkward values, and dither's answers about it before any noise."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np

from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower
from dither.sql.lowering.statement import schema_name
from dither.sql.plan.aggregates.average import Average
from dither.sql.postprocess.formulas import Given
from dither.sql.postprocess.formulas.estimate import Estimate

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
PEOPLE: dict[str, Column] = {"age": Int(0, 99), "city": Category(["Rom", "Oslo"])}
CODES: dict[str, Column] = {"code": Int(0, 9, nullable=False, default=0), "w": Int(0, 50)}
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


def people() -> list[dict[str, Any]]:
    """One row for most owners."""
    ages = [20, 31, None, 64]
    return [
        {"owner_id": owner, "age": ages[owner % 4], "city": ["Rom", "Oslo", None][owner % 3]}
        for owner in range(ROWS // 4)
        if owner % 5 != 4
    ]


def codes() -> list[dict[str, Any]]:
    """A public table of most values of b."""
    return [{"code": code, "w": None if code == 3 else code * 5} for code in range(8)]


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
        found: dict[tuple[Any, ...], tuple[Fraction, ...]] = {}
        many = len(question.keys)
        for row in self.connection.execute(lower(aggregates[0]).sql).fetchall():
            key = tuple(
                None if code is None else one.declaration.decode(code)
                for one, code in zip(question.keys, row[:many], strict=True)
            )
            measures = dict(zip(measured, row[many:], strict=True))
            outputs = tuple(_output(one.aggregate, measures) for one in question.outputs)
            if question.after is None or question.after.having is None or _kept(question.after.having, outputs):
                found[tuple(map(plain, key))] = outputs
        return found


def _output(aggregate: Any, measures: dict[str, int]) -> Fraction:
    """An aggregate from its exact measures; an average over no values is 0, as engines' NULL is read."""
    first, *rest = (int(measures[measure.text]) for measure in aggregate.measures())
    scale = getattr(getattr(aggregate, "value", None), "scale", 0)
    if not isinstance(aggregate, Average):
        return Fraction(first, 10**scale)
    return Fraction(first + aggregate.middle * rest[0], 10**scale * rest[0]) if rest[0] else Fraction(0)


def _kept(having: Any, outputs: tuple[Fraction, ...]) -> bool:
    """Whether HAVING, which looks at counts alone here, keeps a group."""
    cells = [np.array([int(value)]) for value in outputs]
    return bool(having.of(Given([Estimate(cell, cell, cell, 0) for cell in cells], [])).true.all())


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
    tables = {
        "t": Table("t", "people", "owner_id", 4, COLUMNS),
        "p": Table("p", "people", "owner_id", 1, PEOPLE),
    }
    public = PublicTable("k", CODES, ("code",))
    connection = duckdb.connect()
    for table, held in ((tables["t"], values()), (tables["p"], people()), (public, codes())):
        connection.execute(f"CREATE SCHEMA {DUCKDB.name(schema_name(table))}")
        types = {name: DUCKDB.stored(column) for name, column in table.columns.items()}
        own = [[_stored(column, row[name]) for name, column in table.columns.items()] for row in held]
        if isinstance(table, Table):
            types |= {"_owner": "BIGINT", "_rank": "INTEGER"}
            ranks = [row.get("id", 0) % 4 + 1 for row in held]
            own = [[*cells, row["owner_id"], rank] for cells, row, rank in zip(own, held, ranks, strict=True)]
        kinds = ", ".join(f"{name} {kind}" for name, kind in types.items())
        connection.execute(f"CREATE TABLE {DUCKDB.rows(table)} ({kinds})")
        marks = ", ".join("?" for _ in types)
        connection.executemany(f"INSERT INTO {DUCKDB.rows(table)} VALUES ({marks})", own)
    return Exact(Catalog(tables, {"k": public}), connection)


def _stored(column: Column, value: Any) -> Any:
    if value is None or isinstance(column, Text):
        return value
    if isinstance(column, Timestamp):
        return int((value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    return int(column.encode(value))
