"""One suite for every engine: the same declarations, records and SQL give the same exact integers everywhere.

The oracle is plain Python over the raw records: it knows neither plans nor engines.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests_live_tables import WrittenThere
from tests_spark_cluster import running

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.postgres.engine import PostgresEngine
from dither.engines.protocol import Holder
from dither.engines.spark.engine import SparkEngine
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.lowering.lower import lower


def _postgres(folder: Path, clusters: Callable[[str], Any]) -> Holder:
    return PostgresEngine(folder, clusters("first").settings())


ENGINES: dict[str, Callable[[Path, Any], Holder]] = {
    "duckdb": lambda folder, _: DuckDBEngine(folder),
    "postgres": _postgres,
    "live": lambda folder, clusters: WrittenThere(folder, clusters("first")),
    "spark": lambda folder, _: SparkEngine(running().session, folder / "lake", folder),
}

NAMES = [pytest.param(name, marks=[pytest.mark.spark] if name == "spark" else []) for name in ENGINES]

Row = dict[str, Any]
REGIONS = ["north", "south", "it's"]
TABLE = Table(
    "visits",
    "people",
    "patient",
    1000,
    {
        "age": Int(0, 120),
        "amount": Fixed(-10, 100, decimals=2),
        "band": Int(-1, 2, nullable=False, default=0),
        "region": Category(REGIONS),
        "paid": Bool(),
        "day": Date("2020-01-01", "2020-01-03"),
        "seen": Timestamp("2020-01-01", "2029-12-31"),
        "note": Text(max_length=8),
        "huge": Int(-(2**62), 2**62),
    },
    snapshot=1,
)
CATALOG = Catalog({"visits": TABLE})


def raw_records() -> list[Row]:
    generator = random.Random(11)
    pick = generator.choice
    ordinary = [
        {
            "patient": generator.randrange(40),
            "age": pick([None, *range(-5, 130)]),
            "amount": pick([None, math.nan, generator.uniform(-20, 120), 5.005, -0.005]),
            "band": pick([None, -3, -1, 0, 1, 2, 9]),
            "region": pick([None, *REGIONS, "elsewhere"]),
            "paid": pick([None, True, False]),
            "day": pick([None, datetime.date(2019, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)]),
            "seen": pick([None, datetime.datetime(2021, 5, 6, 7, 8, 9, 10), datetime.datetime(1999, 1, 1)]),
            "note": pick([None, "", "a", "ab", "a%b", "A", "much too long", "ünï"]),
            "huge": pick([None, 2**63 - 1, -(2**63), 2**62, -(2**62), 1]),
        }
        for _ in range(900)
    ]
    worst = [
        {"patient": 4217, "amount": value, "region": "nowhere", "note": "CANARY", "huge": 2**63 - 1}
        for value in (math.inf, -math.inf, math.nan, 1.7976931348623157e308, 5e-324, 2.0**63, -(2.0**63))
    ]
    return ordinary + worst + [{"patient": None, "age": 50}]


def clean(row: Row) -> Row:
    """The record as declared, in storage units, by the rules that the documentation states."""

    def clamp(value: int | None, low: int, high: int) -> int | None:
        return None if value is None else min(max(value, low), high)

    amount, note = row.get("amount"), row.get("note")
    if amount is not None:
        finite = math.isfinite(amount)
        limited = Decimal(repr(min(max(amount, -1000.0), 1000.0))) if finite else None
        amount = None if limited is None else int((limited * 100).to_integral_value(ROUND_HALF_UP))
    day, seen = row.get("day"), row.get("seen")
    first = (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days
    instant = None if seen is None else (seen - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    band = row.get("band")
    return {
        "patient": row["patient"],
        "age": clamp(row.get("age"), 0, 120),
        "amount": clamp(amount, -1000, 10000),
        "band": 0 if band is None else clamp(band, -1, 2),
        "region": REGIONS.index(row["region"]) if row.get("region") in REGIONS else None,
        "paid": None if row.get("paid") is None else int(row["paid"]),
        "day": clamp(None if day is None else (day - datetime.date(1970, 1, 1)).days, first, first + 2),
        "seen": clamp(instant, 1577836800 * 10**6, 1893369600 * 10**6),
        "note": note if note is not None and len(note) <= 8 else None,
        "huge": clamp(row.get("huge"), -(2**62), 2**62),
    }


RECORDS = raw_records()
CLEAN = [clean(row) for row in RECORDS if row["patient"] is not None]
FIRST_DAY = 18262


@pytest.fixture(scope="module", params=NAMES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clusters: Any) -> Any:
    made = ENGINES[request.param](tmp_path_factory.mktemp("snapshots"), clusters)
    report = made.load(TABLE, pa.Table.from_pylist(RECORDS, schema=schema()))
    assert (report.rows, report.dropped_without_owner) == (len(CLEAN), 1)
    yield made
    made.close()


def schema() -> pa.Schema:
    return pa.schema(
        [
            ("patient", pa.int64()), ("age", pa.int64()), ("amount", pa.float64()), ("band", pa.int32()),
            ("region", pa.string()), ("paid", pa.bool_()), ("day", pa.date32()), ("seen", pa.timestamp("us")),
            ("note", pa.string()), ("huge", pa.int64()),
        ]
    )  # fmt: skip


def exact(engine: Holder, sql: str, rows_per_owner: int | None = None) -> list[list[int]]:
    """Every measure of the query, before any noise."""
    aggregates = plan(read(sql, CATALOG), rows_per_owner=rows_per_owner)
    check(aggregates)
    sealed = [one for aggregate in aggregates for one in engine.run(lower(aggregate, engine.dialect))]
    return [[int(value) for value in _unseal(one)] for one in sealed]  # type: ignore[union-attr]


def total(name: str) -> Callable[[list[Row]], int]:
    return lambda rows: sum(row[name] for row in rows if row[name] is not None)


def owners(rows: list[Row]) -> int:
    return len({row["patient"] for row in rows})


UNGROUPED: list[tuple[str, Callable[[Row], Any], list[Callable[[list[Row]], int]]]] = [
    ("COUNT(*) FROM visits", lambda r: True, [len]),
    ("COUNT(DISTINCT patient) FROM visits", lambda r: True, [owners]),
    ("COUNT(DISTINCT patient) FROM visits WHERE note LIKE 'a%'", lambda r: (r["note"] or "").startswith("a"), [owners]),
    ("COUNT(age) FROM visits", lambda r: r["age"] is not None, [len]),
    ("SUM(amount) FROM visits", lambda r: True, [total("amount")]),
    ("SUM(huge) FROM visits", lambda r: True, [total("huge")]),
    ("SUM(huge) FROM visits WHERE huge < 0", lambda r: r["huge"] is not None and r["huge"] < 0, [total("huge")]),
    ("SUM(amount), COUNT(*) FROM visits WHERE age >= 40", lambda r: (r["age"] or 0) >= 40, [total("amount"), len]),
    ("COUNT(*) FROM visits WHERE NOT age >= 40", lambda r: r["age"] is not None and r["age"] < 40, [len]),
    ("COUNT(*) FROM visits WHERE age IS NULL OR paid", lambda r: r["age"] is None or r["paid"] == 1, [len]),
    ("COUNT(*) FROM visits WHERE amount = 5.01", lambda r: r["amount"] == 501, [len]),
    (
        "COUNT(*) FROM visits WHERE amount BETWEEN -0.01 AND 7.5",
        lambda r: r["amount"] is not None and -1 <= r["amount"] <= 750,
        [len],
    ),
    ("COUNT(*) FROM visits WHERE region IN ('it''s', 'north')", lambda r: r["region"] in (0, 2), [len]),
    ("COUNT(*) FROM visits WHERE region NOT IN ('north')", lambda r: r["region"] in (1, 2), [len]),
    ("COUNT(*) FROM visits WHERE note = 'a%b'", lambda r: r["note"] == "a%b", [len]),
    ("COUNT(*) FROM visits WHERE note LIKE 'a\\%b'", lambda r: r["note"] == "a%b", [len]),
    ("COUNT(*) FROM visits WHERE note LIKE '_n_'", lambda r: r["note"] == "ünï", [len]),
    ("COUNT(*) FROM visits WHERE note = 'CANARY'", lambda r: r["note"] == "CANARY", [len]),
    ("COUNT(*) FROM visits WHERE day = DATE '2020-01-02'", lambda r: r["day"] == FIRST_DAY + 1, [len]),
    (
        "SUM(age % band) FROM visits",
        lambda r: r["age"] is not None and r["band"],
        [lambda rows: sum(r["age"] % abs(r["band"]) for r in rows)],
    ),
    (
        "SUM(CASE WHEN paid THEN amount ELSE age END) FROM visits",
        lambda r: True,
        [lambda rows: sum((r["amount"] if r["paid"] else 100 * (r["age"] or 0)) or 0 for r in rows)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "kept", "measures"), UNGROUPED)
def test_ungrouped(
    engine: Holder, sql: str, kept: Callable[[Row], Any], measures: list[Callable[[list[Row]], int]]
) -> None:
    rows = [row for row in CLEAN if kept(row)]
    assert rows, "the case must be about something"
    assert exact(engine, f"SELECT {sql}") == [[measure(rows)] for measure in measures]


DOMAINS: dict[str, list[int | None]] = {
    "region": [0, 1, 2, None],
    "paid": [0, 1, None],
    "band": [-1, 0, 1, 2],
    "day": [FIRST_DAY, FIRST_DAY + 1, FIRST_DAY + 2, None],
}


def test_how_a_snapshot_lies(engine: Holder) -> None:
    """Tables that others change have no size here."""
    stored = engine.stored(TABLE)
    assert stored is not None
    assert (stored.bytes or 0) > 0 or not engine.stores
    assert stored.since is None or 0 <= time.time() - stored.since < 86_400
    if engine.stores:
        assert engine.stored(replace(TABLE, snapshot=2)) is None


@pytest.mark.parametrize(
    "keys", [("region",), ("paid",), ("band",), ("day",), ("region", "paid"), ("band", "day", "paid")]
)
def test_every_public_group_appears_in_order(engine: Holder, keys: tuple[str, ...]) -> None:
    listed = ", ".join(keys)
    sql = f"SELECT {listed}, COUNT(*), SUM(amount), SUM(huge), COUNT(DISTINCT patient) FROM visits GROUP BY {listed}"
    groups = [
        [row for row in CLEAN if tuple(row[key] for key in keys) == group]
        for group in itertools.product(*(DOMAINS[key] for key in keys))
    ]
    wanted = [[measure(group) for group in groups] for measure in (len, total("amount"), total("huge"), owners)]
    assert sorted(exact(engine, sql)) == sorted(wanted)


def test_groups_without_rows_are_zero(engine: Holder) -> None:
    assert exact(engine, "SELECT region, COUNT(*) FROM visits WHERE note = 'CANARY' GROUP BY region") == [[0, 0, 0, 7]]
    assert exact(engine, "SELECT region, SUM(age) FROM visits WHERE note = 'nobody' GROUP BY region") == [[0, 0, 0, 0]]
    assert exact(engine, "SELECT SUM(age) FROM visits WHERE note = 'nobody'") == [[0]]


@pytest.mark.parametrize("most", [1, 2, 7, 30])
def test_a_limit_keeps_so_many_rows_of_each_owner(engine: Holder, most: int) -> None:
    sizes = Counter(row["patient"] for row in CLEAN)
    limited = exact(engine, "SELECT COUNT(*), COUNT(DISTINCT patient) FROM visits", rows_per_owner=most)
    assert limited == [[sum(min(most, size) for size in sizes.values())], [len(sizes)]]
    (by_region,) = exact(engine, "SELECT region, COUNT(*) FROM visits GROUP BY region", rows_per_owner=most)
    assert sum(by_region) == limited[0][0]


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_records_give_the_same_integers(name: str, tmp_path: Path, clusters: Any) -> None:
    """With a small limit, which rows count must not depend on their order (threats 12 and 36)."""
    seen = []
    made = ENGINES[name](tmp_path, clusters)
    for snapshot in (1, 2, 3):
        shuffled = random.Random(snapshot).sample(RECORDS, len(RECORDS))
        table = Table(TABLE.name, "people", "patient", 3, TABLE.columns, snapshot)
        made.load(table, pa.Table.from_pylist(shuffled, schema=schema()))
        question = read(
            "SELECT region, COUNT(*), SUM(amount), SUM(huge) FROM visits GROUP BY region", Catalog({"visits": table})
        )
        results = [one for aggregate in plan(question) for one in made.run(lower(aggregate, made.dialect))]
        seen.append([[int(v) for v in _unseal(one)] for one in results])  # type: ignore[union-attr]
    made.close()
    assert seen[0] == seen[1] == seen[2]
