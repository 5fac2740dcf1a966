"""Snapshots are private files, written whole or not at all, read by locked-down connections."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import sanitising, snapshot
from dither.engines.duckdb.worker import MOST_OPEN, Databases
from dither.engines.protocol import EngineError
from dither.errors import PolicyError
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.policy.catalog import Table
from dither.policy.columns import Category, Fixed, Int, Text
from dither.sql.expressions import Stored
from dither.sql.lowering.statement import Statement, schema_name
from dither.sql.plan.nodes import Key

COLUMNS = {"x": Int(0, 9), "r": Category(["n", "s"])}
SOURCE = pa.table({"id": [1, 1, 2, 3], "x": [1, 2, 3, 4], "r": ["n", "s", "s", "n"]})
TABLE = Table("visits", "people", "id", 2, COLUMNS, snapshot=1)
TOTAL = Statement((TABLE,), 'SELECT CAST(COALESCE(SUM("x"), 0) AS BIGINT) AS m0 FROM "t_visits"."rows"', (), 1)


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    made = DuckDBEngine(tmp_path / "snapshots")
    made.load(TABLE, SOURCE)
    yield made
    made.close()


def total(engine: DuckDBEngine, statement: Statement = TOTAL) -> int:
    return int(_unseal(engine.run(statement)[0])[0])  # type: ignore[index]


def test_answers_are_sealed_and_dense(engine: DuckDBEngine) -> None:
    measures = 'COUNT(*) AS m0, CAST(SUM("x") AS HUGEINT) AS m1'
    sql = f'SELECT "r" AS k0, {measures} FROM "t_visits"."rows" WHERE "x" < 4 GROUP BY "r"'
    answers = engine.run(Statement((TABLE,), sql, (Key(Stored("r", 0, 1, 0, True), True, 0, 1, True),), 2))
    assert all(isinstance(answer, Exact) for answer in answers)
    with pytest.raises(TypeError):
        repr(answers[0])
    assert [list(_unseal(answer)) for answer in answers] == [[1, 2, 0], [1, 5, 0]]  # type: ignore[arg-type]


def test_files_are_private(engine: DuckDBEngine, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    total(engine)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name[:7]: path.stat().st_mode & 0o777 for path in folder.rglob("*")} == {
        "rank.ke": 0o600,
        "visits-": 0o600,
        ".spill-": 0o700,
        "lock": 0o600,
    }
    engine.close()
    assert sorted(path.name for path in folder.iterdir()) == ["rank.key", "visits-000001.duckdb"]
    assert len((folder / "rank.key").read_bytes()) == 32


def test_the_key_is_made_once_and_guarded(engine: DuckDBEngine, tmp_path: Path) -> None:
    key = tmp_path / "snapshots" / "rank.key"
    before = key.read_bytes()
    other = Table("other", "people", "id", 2, COLUMNS, snapshot=2)
    engine.load(other, SOURCE)
    assert key.read_bytes() == before
    key.chmod(0o644)
    with pytest.raises(PolicyError, match="0600"):
        engine.load(Table("third", "people", "id", 2, COLUMNS, snapshot=3), SOURCE)


def test_has_drop_and_refresh(engine: DuckDBEngine) -> None:
    fresh = Table("visits", "people", "id", 2, COLUMNS, snapshot=2)
    assert engine.has(TABLE)
    assert not engine.has(fresh)
    assert total(engine) == 10
    engine.load(fresh, SOURCE.slice(0, 2))
    moved = Statement((fresh,), TOTAL.sql, (), 1)
    assert (total(engine), total(engine, moved)) == (10, 3)  # both exist until the old one is dropped
    engine.drop(TABLE)
    assert not engine.has(TABLE)
    assert total(engine, moved) == 3
    (Path(engine._folder) / "visits-000002.duckdb").unlink()  # as another process would drop it
    third = Table("visits", "people", "id", 2, COLUMNS, snapshot=3)
    engine.load(third, SOURCE.slice(0, 1))
    assert total(engine, Statement((third,), TOTAL.sql, (), 1)) == 1
    with pytest.raises(EngineError):
        engine.run(TOTAL)
    engine.drop(TABLE)


def test_a_snapshot_never_changes(engine: DuckDBEngine) -> None:
    with pytest.raises(PolicyError, match="never changes"):
        engine.load(TABLE, SOURCE)
    assert total(engine) == 10


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS m0 FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) AS m0 FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "ATTACH 'other.db'",
        "SET enable_external_access = true",
        "SET threads = 1",
        "INSTALL httpfs",
        "LOAD httpfs",
        "DELETE FROM t_visits.rows",
        "CREATE TABLE t_visits.main.more (x INTEGER)",
        "SELECT CAST(x AS DOUBLE) AS m0 FROM t_visits.rows LIMIT 1",
        "SELECT error(CAST(x AS VARCHAR)) AS m0 FROM t_visits.rows",
        "SELECT nonsense",
        "",
    ],
)
def test_whatever_fails_fails_the_same(engine: DuckDBEngine, sql: str) -> None:
    with pytest.raises(EngineError) as caught:
        engine.run(Statement((TABLE,), sql, (), 1))
    assert str(caught.value) == "the engine could not answer this statement"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "the engine's own error could quote data"
    assert total(engine) == 10


def test_strict_refuses_with_counts_and_no_values(tmp_path: Path) -> None:
    engine = DuckDBEngine(tmp_path / "snapshots")
    salaries = Table("salaries", "people", "id", 1, {"salary": Fixed(10000, 100000, decimals=0)}, snapshot=1)
    source = pa.table({"id": ["a", "b", None, "c"], "salary": ["50000", "150000", "1", "canary"]})
    with pytest.raises(
        PolicyError, match="1 value of 'salary' out of range; 1 value of 'salary' unusable; 1 record "
    ) as caught:
        engine.load(salaries, source, strict=True)
    assert "canary" not in str(caught.value)
    assert "150000" not in str(caught.value)
    assert not engine.has(salaries)
    clean = pa.table({"id": ["a", "b"], "salary": ["50000", "100000"]})
    assert engine.load(salaries, clean, strict=True).rows == 2


def test_a_failed_verification_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: clamping that forgets the upper bound is seen when the snapshot is read back."""
    stored = sanitising.Reading.stored
    monkeypatch.setattr(sanitising.Reading, "stored", lambda self: stored(self).replace("THEN 9 ", "THEN 10 "))
    engine = DuckDBEngine(tmp_path / "snapshots")
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        engine.load(TABLE, pa.table({"id": [1], "x": [50], "r": ["n"]}))
    assert not engine.has(TABLE)


def test_texts_are_as_long_as_declared_and_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a load that lets longer texts through is seen, since questions rely on their length."""
    table = Table("notes", "people", "id", 2, {"s": Text(max_length=4)}, snapshot=1)
    source = pa.table({"id": [1, 2, 3], "s": ["é😀ab", "12345", "e\u0301abc"]})
    engine = DuckDBEngine(tmp_path / "snapshots")
    assert engine.load(table, source).replaced == {"s": 2}
    stored = sanitising.Reading.stored
    monkeypatch.setattr(sanitising.Reading, "stored", lambda self: stored(self).replace('"_value', '"_raw'))
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        engine.load(replace(table, snapshot=2), source)


ROW_NUMBER = 'row_number() OVER (PARTITION BY "_owner")'
WRONG_RANKS = {
    "all first": "1",
    "over all owners": "row_number() OVER ()",
    "from zero": f"{ROW_NUMBER} - 1",
    "with a gap": f"{ROW_NUMBER} + CASE WHEN {ROW_NUMBER} > 1 THEN 1 ELSE 0 END",
    "one twice": f"CASE WHEN {ROW_NUMBER} = 2 THEN 3 ELSE {ROW_NUMBER} END",
    "two first": f"CASE WHEN {ROW_NUMBER} = 2 THEN 1 ELSE {ROW_NUMBER} END",
    "one owner without a first": f'{ROW_NUMBER} + CASE WHEN "_owner" = 3 THEN 1 ELSE 0 END',
    "a late one twice": f"CASE WHEN {ROW_NUMBER} = 70 THEN 71 ELSE {ROW_NUMBER} END",
    "an early one for a late one": f"CASE WHEN {ROW_NUMBER} = 70 THEN 3 ELSE {ROW_NUMBER} END",
    "the last as the last of the first": f"CASE WHEN {ROW_NUMBER} = 64 THEN 63 ELSE {ROW_NUMBER} END",
}


@pytest.mark.parametrize("ranks", WRONG_RANKS)
def test_wrong_ranks_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: str) -> None:
    """Planted bugs: a limit per owner, and the count of owners, are only as good as the ranks."""
    wrong = f"CAST({WRONG_RANKS[ranks]} AS INTEGER) + CAST(length($key) * 0 AS INTEGER)"
    monkeypatch.setattr(snapshot, "rank_expression", lambda owner_type, columns: wrong)
    engine = DuckDBEngine(tmp_path / "snapshots")
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        engine.load(TABLE, pa.table({"id": [1, 2, 3, 1, 2, 1, *[4] * 72], "x": range(78), "r": ["n"] * 78}))
    assert not engine.has(TABLE)


def test_progress_goes_forward_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    callers = set()

    def show(what: str, done: float) -> None:
        seen.append((what, done))
        callers.add(threading.get_ident())

    DuckDBEngine(tmp_path / "snapshots").load(TABLE, SOURCE, progress=show)
    done = [fraction for _, fraction in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0.0, 1.0)
    assert {what for what, _ in seen} == {"sanitising", "ranking", "verified"}
    assert callers == {threading.get_ident()}


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_an_interrupted_load_leaves_nothing(tmp_path: Path, calls: int) -> None:
    seen = []

    def stop(what: str, done: float) -> None:
        seen.append(what)
        if len(seen) == calls:
            raise KeyboardInterrupt

    engine = DuckDBEngine(tmp_path / "snapshots")
    with pytest.raises(KeyboardInterrupt):
        engine.load(TABLE, SOURCE, progress=stop)
    assert {path.name for path in (tmp_path / "snapshots").iterdir()} == {"rank.key"}


def test_what_a_killed_load_left_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    program = (
        "import os, pyarrow as pa; from pathlib import Path; from dither.policy.columns import Int;"
        "from dither.engines.duckdb.engine import DuckDBEngine; from dither.policy.catalog import Table;"
        f"DuckDBEngine(Path({str(folder)!r})).load(Table('t', 'p', 'id', 1, {{'x': Int(0, 9)}}, 7),"
        "pa.table({'id': [1], 'x': [1]}), progress=lambda what, done: os._exit(9) if what == 'ranking' else None)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    assert [path.name[:9] for path in folder.iterdir() if path.is_dir()] == [".loading-"]
    DuckDBEngine(folder).load(TABLE, SOURCE)
    assert {path.name for path in folder.iterdir()} == {"rank.key", "visits-000001.duckdb"}


def test_a_load_that_still_runs_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    other = Table("other", "people", "id", 2, COLUMNS, snapshot=2)

    def meanwhile(what: str, done: float) -> None:
        if what == "ranking" and not DuckDBEngine(folder).has(other):
            DuckDBEngine(folder).load(other, SOURCE)

    engine = DuckDBEngine(folder)
    assert engine.load(TABLE, SOURCE, progress=meanwhile).rows == 4
    assert engine.has(TABLE)
    assert engine.has(other)


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyError, match="cannot be used"):
        DuckDBEngine(tmp_path / "file" / "snapshots").load(TABLE, SOURCE)


def _child(folder: str, answers: Any) -> None:
    answers.put(total(DuckDBEngine(Path(folder))))


def test_several_processes_read_one_snapshot(engine: DuckDBEngine, tmp_path: Path) -> None:
    assert total(engine) == 10
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    children = [context.Process(target=_child, args=(str(tmp_path / "snapshots"), answers)) for _ in range(2)]
    for child in children:
        child.start()
    assert [answers.get(timeout=600) for _ in children] == [10, 10]
    for child in children:
        child.join()
    assert total(engine) == 10


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_opens_its_own(engine: DuckDBEngine) -> None:
    for _ in range(3):
        assert total(engine) == 10
        child = os.fork()
        if child == 0:
            try:
                os._exit(total(engine))
            finally:
                os._exit(99)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
    assert total(engine) == 10


def test_many_threads_ask_at_once(engine: DuckDBEngine) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(total(engine))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [10] * 16


def test_databases_of_a_few_sets_of_tables_stay_open(engine: DuckDBEngine, tmp_path: Path) -> None:
    """Each has threads and memory of its own, and there are 2**n sets of n tables."""
    databases = Databases({}, str(tmp_path / "spill"), "1GB")
    first = (schema_name(TABLE), str(engine._path(TABLE)))
    for number in range(2, MOST_OPEN + 6):
        table = replace(TABLE, name=f"t{number}", snapshot=number)
        engine.load(table, SOURCE)
        both = f'FROM "t_t{number}"."rows" AS a JOIN "t_visits"."rows" AS b ON a."_owner" = b."_owner"'
        sql = f'SELECT CAST(SUM(a."x") AS BIGINT) AS m0 {both}'
        assert total(engine, Statement((table, TABLE), sql, (), 1)) == 13
        with databases.cursor(((schema_name(table), str(engine._path(table))), first)) as cursor:
            assert cursor.sql(sql).fetchall() == [(13,)]
    assert len(databases._open) == MOST_OPEN


def test_a_dropped_snapshot_is_let_go_of(engine: DuckDBEngine, tmp_path: Path) -> None:
    """An open file is still on the disk."""
    databases = Databases({}, str(tmp_path / "spill"), "1GB")
    databases.cursor(((schema_name(TABLE), str(engine._path(TABLE))),)).close()
    databases.forget_dropped()
    assert len(databases._open) == 1
    engine.drop(TABLE)
    databases.forget_dropped()
    assert not databases._open


def check_one_version(engine: DuckDBEngine, path: Path) -> None:
    """The source is updated while questions are asked; every answer is of the registered version."""
    with duckdb.connect(str(path)) as live:
        live.execute("CREATE TABLE t AS SELECT range AS id, 1 AS x, 'n' AS r FROM range(5000)").fetchall()
    engine.load(TABLE, (path, "t"))
    with duckdb.connect(str(path)) as live:
        for value in range(2, 6):
            live.execute(f"UPDATE t SET x = {value}").fetchall()
            assert total(engine) == 5000, "answers must be of one version"


def test_a_query_sees_one_version(tmp_path: Path) -> None:
    """Threat 47."""
    check_one_version(DuckDBEngine(tmp_path / "snapshots"), tmp_path / "live.db")


class ReadsTheSource(DuckDBEngine):
    """Planted bug: no copy is made; questions go to where the data live."""

    def load(self, table: Any, source: Any, **named: Any) -> Any:
        self._source = source

    def run(self, statement: Statement) -> list[Exact]:
        path, name = self._source
        with duckdb.connect(str(path)) as live:
            (found,) = live.execute(f"SELECT SUM(x) FROM {name}").fetchone()
        return [Exact(np.array([found], dtype=object))]


def test_planted_bug_reading_the_source(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="of one version"):
        check_one_version(ReadsTheSource(tmp_path / "snapshots"), tmp_path / "live.db")


def test_importing_dither_does_not_import_the_engine() -> None:
    program = (
        "import sys, dither, dither.engines.protocol, dither.engines.duckdb.engine; sys.exit('duckdb' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
