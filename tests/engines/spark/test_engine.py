"""Snapshots and statements on a real cluster: DuckDB's rows and ranks, nothing left behind, and nothing shown."""

from __future__ import annotations

import datetime
import math
import random
import threading
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests_spark_cluster import kill, stop, until

import dither as dt
from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots.rank import secret_key
from dither.engines.protocol import EngineError, StatementStopped
from dither.engines.spark import ranking
from dither.engines.spark.engine import SparkEngine
from dither.engines.spark.records import Chain, Hasher, Sanitiser
from dither.engines.spark.warehouse import described
from dither.errors import PolicyError, QueryFailed, RecordsRefused
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import ForeignKey, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.policy.limits import Limits
from dither.policy.structure import Structure
from dither.sql.lowering.statement import Statement

pytestmark = pytest.mark.spark

CANARY, SUM = "canary-4217-tango", 918_273_645
SECRET = "what a source says of itself"
COLUMNS = {
    "n": Int(0, 9),
    "share": Fixed(-1, 1, decimals=3),
    "price": Fixed(0, 100, decimals=2),
    "kind": Category(["old", "new"]),
    "paid": Bool(),
    "day": Date("2020-01-01", "2020-12-31"),
    "at": Timestamp("2020-01-01", "2020-12-31"),
    "note": Text(max_length=12),
    "wide": Int(-(2**62), 2**62, nullable=False, default=0),
}
TABLE = Table("visits", "people", "id", 3, COLUMNS, 1)
PARENT = Table("people", "people", "id", 1, {"card": Int(0, 99)}, 1)
TABLES = {
    "a column": TABLE,
    "key and structure": replace(
        TABLE, key=("n", "day"), structure=Structure(rows_in={"kind": 2}, values={"note": 2}), snapshot=2
    ),
    "a foreign key": replace(TABLE, owner="id", via=ForeignKey("n", "people", "card"), snapshot=3),
    "text": replace(TABLE, owner="note", snapshot=4),
}
COUNT = Statement((TABLE,), "SELECT COUNT(*) AS m0 FROM `t_visits_000001`", (), 1)
SLOW = "SELECT CAST(SUM(id * 7 % 11) AS BIGINT) AS m0 FROM range(1000000000000000)"


def records(rows: int = 300) -> pa.Table:
    """Values below, within and beyond what is declared, in the types of a lake."""
    draw = random.Random(2)
    at, day = datetime.datetime(2020, 5, 5, 12, tzinfo=datetime.UTC), datetime.date(2020, 2, 2)
    drawn = {
        "id": (pa.int64(), lambda: draw.choice([None, *range(12)])),
        "n": (pa.int32(), lambda: draw.choice([None, -4, 12, *range(10)])),
        "share": (pa.float64(), lambda: draw.choice([None, math.nan, math.inf, 0.0005, draw.uniform(-2, 2)])),
        "price": (
            pa.decimal128(12, 4),
            lambda: draw.choice([None, Decimal(draw.randrange(-99, 10**7)).scaleb(-4)]),
        ),
        "kind": (pa.string(), lambda: draw.choice([None, "old", "new", "other"])),
        "paid": (pa.bool_(), lambda: draw.choice([None, True, False])),
        "day": (pa.date32(), lambda: draw.choice([None, day, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)])),
        "at": (pa.timestamp("us", "UTC"), lambda: draw.choice([None, at, at.replace(year=2, microsecond=7)])),
        "note": (pa.string(), lambda: draw.choice([None, "", "é", "7", " 7", "7.0", "x" * 40, "A", "a"])),
        "wide": (pa.int64(), lambda: draw.choice([None, 2**63 - 1, -(2**63), draw.randrange(99)])),
    }
    return pa.table({name: pa.array([make() for _ in range(rows)], kind) for name, (kind, make) in drawn.items()})


@pytest.fixture(scope="module")
def engine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> SparkEngine:
    """With the tables `visits` and `people`."""
    folder = tmp_path_factory.mktemp("engine")
    made = SparkEngine(spark.session, folder / "lake", folder / "snapshots")
    made._home = home = DuckDBEngine(folder / "snapshots")  # type: ignore[attr-defined]
    people = pa.table({"id": [k % 40 for k in range(60)], "card": list(range(60))})
    home.load(replace(PARENT, max_rows_per_owner=2), people)
    made.load(replace(PARENT, max_rows_per_owner=2), spark.session.createDataFrame(people))
    return made


def stored(engine: Any, table: Table) -> list[tuple[Any, ...]]:
    with engine.rows(table) as rows:
        return sorted((tuple(row.values()) for row in rows.read_all().to_pylist()), key=repr)


def check_same_snapshot(engine: Any, table: Table, frame: Any) -> None:
    """By DuckDB and by Spark, the same report, and the same rows with the same ranks."""
    parent = PARENT if table.via else None
    with ExitStack() as dropping:  # whatever is refused, other tests load this table again
        reports = []
        for one, source in ((engine._home, records()), (engine, frame)):
            reports.append(one.load(table, source, parent=parent))
            dropping.callback(one.drop, table)
        assert reports[0] == reports[1]
        assert stored(engine._home, table) == stored(engine, table)
        assert engine._home.owner_type(table) == engine.owner_type(table)


@pytest.mark.parametrize("kind", TABLES)
def test_rows_and_ranks_are_duckdbs(engine: SparkEngine, spark: Any, kind: str) -> None:
    check_same_snapshot(engine, TABLES[kind], spark.session.createDataFrame(records()))


PLANTED = {
    "by value": lambda table, names: "row_number() OVER (PARTITION BY `_owner` ORDER BY `n`)",
    "across owners": lambda table, names: "row_number() OVER (ORDER BY `_digest`)",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_ranks(engine: SparkEngine, spark: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_place", PLANTED[kind])
    with pytest.raises((AssertionError, PolicyError)):
        check_same_snapshot(engine, TABLE, spark.session.createDataFrame(records()).repartition(2))


def test_each_row_its_own_owner(engine: SparkEngine, spark: Any) -> None:
    table = replace(TABLE, owner="", max_rows_per_owner=1, snapshot=5)
    report = engine.load(table, spark.session.createDataFrame(records()).repartition(2))
    rows = stored(engine, table)
    assert (report.rows, report.owners) == (300, 300)
    assert len({row[0] for row in rows}) == 300
    assert {row[-1] for row in rows} == {1}
    engine.drop(table)


def test_strict_refuses_and_nothing_is_left(engine: SparkEngine, spark: Any) -> None:
    lake = engine._warehouse._folder
    before = sorted(lake.iterdir())
    with pytest.raises(RecordsRefused):
        engine.load(TABLE, spark.session.createDataFrame(records()), strict=True)
    failing = spark.session.range(9).selectExpr("id", f"CAST(raise_error('{SECRET}') AS INT) AS n")
    narrow = replace(TABLE, columns={"n": COLUMNS["n"]})
    with pytest.raises(PolicyError, match="could not be copied") as caught:
        engine.load(narrow, failing)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(PolicyError, match="cannot be read as Int"):
        engine.load(narrow, spark.session.range(9).selectExpr("id", "array(id) AS n"))
    assert sorted(lake.iterdir()) == before


def test_files_are_private_and_go_with_their_table(engine: SparkEngine) -> None:
    lake, table = engine._warehouse._folder, replace(PARENT, snapshot=9)
    engine.load(table, pa.table({"id": [1, 2], "card": [1, 2]}))
    assert lake.stat().st_mode & 0o077 == 0
    assert engine.has(table)
    with pytest.raises(PolicyError, match="never changes"):
        engine.load(table, pa.table({"id": [1], "card": [1]}))
    engine.keep_only([PARENT])
    assert not engine.has(table)
    assert [path.name for path in lake.iterdir()] == ["people-000001"]


# Statements


def test_a_slow_statement_is_stopped_and_says_nothing(spark: Any, tmp_path: Path) -> None:
    seconds = [2]
    limits = lambda: Limits(statement_seconds=seconds[0])  # noqa: E731
    engine = SparkEngine(spark.session, tmp_path / "lake", tmp_path / "snapshots", limits=limits)
    engine.load(replace(TABLE, columns={"n": COLUMNS["n"]}), pa.table({"id": [1, 2, 3], "n": [1, 2, 3]}))
    count = replace(COUNT, tables=(replace(TABLE, columns={"n": COLUMNS["n"]}),))
    with pytest.raises(StatementStopped) as caught:
        engine.run(replace(count, sql=SLOW))
    assert str(caught.value) == str(EngineError()), "the same words as any other failure"
    assert caught.value.__context__ is None
    seconds[0] = 600
    with pytest.raises(EngineError) as nonsense:
        engine.run(replace(count, sql=f"SELECT '{CANARY}' FROM nowhere"))
    assert type(nonsense.value) is EngineError
    assert CANARY not in str(nonsense.value)
    assert nonsense.value.__context__ is None
    (found,) = engine.run(count)
    assert int(_unseal(found)[0]) == 3  # type: ignore[index]


# What can be seen from outside


def check_nothing_shows(spark: Any, *sought: str) -> None:
    """Threat 70: no log, no file of a worker and no shuffled block has any of it."""
    looked = 0
    for path in spark.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            looked += 1
            for one in sought:
                assert one.encode() not in content, path.name
    assert looked > 5, "logs and folders of workers are there"


def test_no_canary_no_exact_number_and_no_key_in_any_log_or_file(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = SparkEngine(spark.session, tmp_path / "lake", tmp_path / "snapshots")
    columns = {"x": Int(0, 10**9), "s": Text(max_length=40)}
    table = Table("t", "people", "id", 5, columns, 1)
    source = pa.table({"id": [1, 2, 3, 3], "x": [SUM - 6, 1, 2, 3], "s": [CANARY, "b", "c", "c"]})
    frame = spark.session.createDataFrame(source).repartition(2)
    engine.load(table, frame)
    sql = "SELECT s AS k0, SUM(x) AS m0, COUNT(DISTINCT `_owner`) AS m1 FROM `t_t_000001` GROUP BY s"
    whole = Statement((table,), "SELECT SUM(x) AS m0 FROM `t_t_000001`", (), 1)
    with engine.slot() as turn:
        assert engine._table(turn, replace(whole, sql=sql)).num_rows == 3
    (found,) = engine.run(whole)
    assert int(_unseal(found)[0]) == SUM  # type: ignore[index]
    key = secret_key(tmp_path / "snapshots" / "rank.key")
    check_nothing_shows(spark, CANARY, str(SUM), str(SUM - 6), key)
    shown = "".join(capfd.readouterr())
    assert not any(one in shown for one in (CANARY, str(SUM), key))
    sanitiser = Sanitiser(table)
    made, kind = sanitiser.columns(frame.limit(0).toArrow().schema)
    hasher = Hasher(table, kind, key)
    frame.mapInArrow(Chain(sanitiser, hasher), described(made | hasher.columns)).explain(True)
    plan = capfd.readouterr().out
    assert "MapInArrow" in plan
    assert key not in plan
    assert key not in repr(hasher)


def test_planted_record_in_the_log_of_an_executor(spark: Any) -> None:
    planted = "canary-in-a-log"

    def printing(batches: Any) -> Any:
        for batch in batches:
            print(batch.to_pylist())
            yield batch

    spark.session.createDataFrame(pa.table({"s": [planted]})).mapInArrow(printing, "s STRING").toArrow()
    with pytest.raises(AssertionError):
        check_nothing_shows(spark, planted)


# A cluster that dies


def test_workers_killed_in_the_middle_of_a_question(spark: Any, tmp_path: Path) -> None:
    """The charge stands, the failure says nothing, and once there are workers again a question is answered once."""
    curator = dt.Curator.open(tmp_path / "folder", create=True, engines={"spark": dt.Spark(spark.session)})
    frame = spark.session.createDataFrame(pa.table({"id": list(range(50)), "n": [3] * 50}))
    columns, budget = {"n": Int(0, 9)}, dt.PureDP(9)
    curator.register("t", frame, owner="id", columns=columns, max_rows_per_owner=1, budget=budget, engine="spark")
    curator.limits(Limits(statement_seconds=5))
    text, failed = "SELECT COUNT(*) FROM t", list[Exception]()

    def ask() -> None:
        try:
            curator.sql(text, epsilon=1)
        except QueryFailed as error:
            failed.append(error)

    executors = spark.executors()
    for executor in executors:
        stop(executor)  # so that the question is certainly not answered before they are killed
    asking = threading.Thread(target=ask)
    asking.start()
    tracker = spark.session.sparkContext.statusTracker()
    until(lambda: tracker.getActiveJobsIds() or not asking.is_alive())
    for worker in spark.workers:
        worker.kill()
    for executor in executors:
        kill(executor)
    asking.join()
    spark.workers[:] = [spark.start_worker(), spark.start_worker()]
    assert len(failed) == 1
    assert "spark" not in str(failed[0]).lower()
    curator.limits(Limits(statement_seconds=600))
    first = curator.sql(text, epsilon=1)
    assert curator.sql(text, epsilon=1).to_dicts() == first.to_dicts()
    assert curator.budget("t").spent.epsilon == 2
    curator.close()
