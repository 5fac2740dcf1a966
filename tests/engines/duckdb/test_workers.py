"""Statements run in processes of their own: within limits, one at a time each, leaving nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dither as dt
from dither.engines.duckdb import engine as engine_module
from dither.engines.duckdb import worker, workers
from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.spill import remove_abandoned
from dither.engines.duckdb.workers import Process
from dither.engines.protocol import EngineError, StatementStopped
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import Table
from dither.sql.lowering.statement import Statement

TABLE = Table("visits", "people", "id", 1, {"x": dt.Int(0, 9)}, snapshot=1)
COUNT = 'SELECT COUNT(*) AS m0 FROM "t_visits"."rows"'
SLOW = "SELECT CAST(SUM(a.range * b.range % 7) AS BIGINT) AS m0 FROM range(1000000000) AS a, range(1000000000) AS b"
GREEDY = {
    "texts together": "SELECT CAST(LENGTH(string_agg(repeat('x', 1000000) || range, '')) AS BIGINT) AS m0 "
    "FROM range(100000)",
    "one text": "SELECT CAST(MAX(LENGTH(repeat(repeat('x', 1000000), 2000) || range)) AS BIGINT) AS m0 FROM range(10)",
    "a list": "SELECT CAST(LENGTH(list(range)) AS BIGINT) AS m0 FROM range(10000000000)",
    "a result": "SELECT range AS m0 FROM range(10000000000)",
}
# Takes more than half of MEMORY, and so spills.
SPILLS = (
    "SELECT CAST(SUM(n) AS BIGINT) AS m0 FROM "
    "(SELECT row_number() OVER (ORDER BY (range * 7919) % 300000001) % 7 AS n FROM range(300000000))"
)
MEMORY = 400 * 2**20
MINUTE = 60.0


def statement(sql: str) -> Statement:
    return Statement((TABLE,), sql, (), 1)


def make(folder: Path, **limits: Any) -> DuckDBEngine:
    stated = dt.Limits(**{"statement_memory": MEMORY, "workers": 2} | limits)
    engine = DuckDBEngine(folder / "snapshots", limits=lambda: stated)
    if not engine.has(TABLE):
        engine.load(TABLE, pa.table({"id": [1, 2, 3], "x": [1, 2, 3]}))
    return engine


def count(engine: DuckDBEngine) -> int:
    return int(_unseal(engine.run(statement(COUNT))[0])[0])  # type: ignore[index]


def until(true: Callable[[], object]) -> None:
    """Wait for what must come; a slow machine may take its time."""
    deadline = time.monotonic() + 10 * MINUTE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether any of its threads is; nobody may be there to reap it."""
    states = []
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # it has just ended
            states.append(thread.read_text().rpartition(")")[2].split()[0])
    return not set(states) <= {"Z", "X"}


def own_memory() -> int:
    used, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (used - shared) * os.sysconf("SC_PAGESIZE")


def test_a_slow_statement_is_stopped(tmp_path: Path) -> None:
    engine = make(tmp_path, statement_seconds=1)
    with pytest.raises(StatementStopped) as caught:
        engine.run(statement(SLOW))
    assert str(caught.value) == str(EngineError()), "the same words as any other failure"
    assert caught.value.__context__ is None
    assert count(engine) == 3


def check_statements_share_their_time(engine: DuckDBEngine) -> None:
    """Many short statements of one question are stopped as a long one is."""
    short = statement("SELECT CAST(SUM(range) AS BIGINT) AS m0 FROM range(3000000)")

    def run_all() -> None:
        with engine.slot() as process:
            while cpu_seconds(process.pid) < 5:  # type: ignore[attr-defined]
                engine.run(short)

    with pytest.raises(StatementStopped):
        run_all()


def test_all_statements_of_a_question_share_its_time(tmp_path: Path) -> None:
    check_statements_share_their_time(make(tmp_path, statement_seconds=1))


def test_planted_bug_time_for_each_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Process.ask

    def anew(self: Process, *given: Any) -> Any:
        self.begin()
        return ask(self, *given)

    monkeypatch.setattr(Process, "ask", anew)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_statements_share_their_time(make(tmp_path, statement_seconds=1))


@pytest.mark.parametrize("kind", GREEDY)
def test_a_greedy_statement_is_stopped_and_takes_nothing_from_its_parent(tmp_path: Path, kind: str) -> None:
    engine = make(tmp_path)
    assert count(engine) == 3
    before = own_memory()
    with pytest.raises(StatementStopped):
        engine.run(statement(GREEDY[kind]))
    assert own_memory() < before + MEMORY // 4
    assert count(engine) == 3


@pytest.mark.parametrize("value", ["TRUE", "NULL", "CAST(1 AS TINYINT)", "''"])
def test_what_takes_few_bytes_counts_as_the_object_that_it_becomes(tmp_path: Path, value: str) -> None:
    """A truth is sent in one bit, and whoever reads it has it as an object: 2^28 of them would be 32 MiB on the way."""
    engine, most = make(tmp_path), 8 * 10_000
    sql = f"SELECT {value} AS a, {value} AS b FROM range({{}})"
    assert engine.compute(sql.format(5_000), {}, most).num_rows == 5_000
    with pytest.raises(EngineError) as caught:
        engine.compute(sql.format(5_001), {}, most)
    assert caught.value.why == "it is too large"


def test_an_error_of_the_engine_is_not_a_stop(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        make(tmp_path).run(statement("SELECT nonsense"))
    assert type(caught.value) is EngineError


def running(engine: DuckDBEngine, sql: str) -> tuple[threading.Thread, list[type[BaseException]], workers.Process]:
    """A statement under way in a thread, what it will fail with, and its worker."""
    failed: list[type[BaseException]] = []

    def run() -> None:
        try:
            engine.run(statement(sql))
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(type(error))

    with engine.slot() as process:
        assert isinstance(process, workers.Process)
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: cpu_seconds(process.pid) > 0.5)
    return thread, failed, process


def cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_worker_killed_from_outside_is_a_stopped_statement(tmp_path: Path) -> None:
    engine = make(tmp_path)
    thread, failed, process = running(engine, SLOW)
    os.kill(process.pid, signal.SIGKILL)
    thread.join()
    assert failed == [StatementStopped]
    assert count(engine) == 3


def test_an_idle_worker_that_died_is_replaced(tmp_path: Path) -> None:
    """Nobody pays for it: it is noticed before a statement is handed over."""
    engine = make(tmp_path)
    with engine.slot() as process:
        assert isinstance(process, workers.Process)
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not alive(process.pid))
    assert count(engine) == 3


def test_workers_are_kept_and_end_with_the_engine(tmp_path: Path) -> None:
    engine = make(tmp_path)
    pids = set()
    for _ in range(3):
        with engine.slot() as process:
            pids.add(process.pid)  # type: ignore[attr-defined]
            assert count(engine) == 3, "a thread uses the worker that it holds"
    assert len(pids) == 1
    engine.close()
    assert not any(map(alive, pids))


def test_a_worker_writes_no_core_and_nothing_that_others_can_read(tmp_path: Path) -> None:
    with make(tmp_path).slot() as process:
        limits = Path(f"/proc/{process.pid}/limits").read_text()  # type: ignore[attr-defined]
        status = Path(f"/proc/{process.pid}/status").read_text()  # type: ignore[attr-defined]
    (core,) = [line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size")]
    assert core == ["0", "0"]
    assert "Umask:\t0077" in status


def test_changed_limits_take_effect_with_the_next_statement(tmp_path: Path) -> None:
    stated = [dt.Limits(statement_memory=MEMORY)]
    make(tmp_path).close()
    engine = DuckDBEngine(tmp_path / "snapshots", limits=lambda: stated[0])
    assert count(engine) == 3
    stated[0] = dt.Limits(statement_memory=MEMORY, statement_seconds=1)
    with pytest.raises(StatementStopped):
        engine.run(statement(SLOW))


# Slots


def test_no_free_worker_is_told_before_anything_runs(tmp_path: Path) -> None:
    engine = make(tmp_path, workers=1, wait_seconds=1)
    refused: list[BaseException] = []

    def ask() -> None:
        try:
            with engine.slot():
                refused.append(AssertionError("there was none"))
        except dt.Busy as error:
            refused.append(error)

    with engine.slot():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert [str(error) for error in refused] == [
        "no worker is free: 1 run at once, and at most 1 for one analyst; try again. Nothing was charged."
    ]
    with engine.slot():
        assert count(engine) == 3


def test_more_threads_than_workers(tmp_path: Path) -> None:
    engine = make(tmp_path, workers=2, wait_seconds=600)
    found: list[int] = []

    def ask() -> None:
        with engine.slot():
            found.append(count(engine))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3] * 12
    assert len(engine._workers._idle) <= 2


def test_a_worker_that_cannot_start_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make(tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(dt.PolicyError, match="no worker process could be started"), engine.slot():
        pass
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(dt.PolicyError, match="no worker process could be started"), engine.slot():
        pass


# What is left behind

DYING = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
from pathlib import Path
import test_workers as t
engine = t.make(Path({folder!r}))
thread, failed, process = t.running(engine, {sql!r})
t.until(lambda: {ready})
print(process.pid, flush=True)
if {both}:
    os.kill(process.pid, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


def died(folder: Path, sql: str, *, ready: str = "True", both: bool = False) -> int:
    """A process that was killed while its worker ran a statement; the worker's pid."""
    program = DYING.format(tests=str(Path(__file__).parent), folder=str(folder), sql=sql, ready=ready, both=both)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return int(done.stdout)


def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    pid = died(tmp_path, SLOW)
    until(lambda: not alive(pid))
    assert not list((tmp_path / "snapshots").glob(".spill-*"))


def check_no_spill_is_left(tmp_path: Path, clean: Callable[[], object]) -> None:
    """Killed together with its worker while that spills; what is left is removed when the folder is used again."""
    written = "any(Path({!r}).rglob('*.tmp'))".format(str(tmp_path / "snapshots"))
    pid = died(tmp_path, SPILLS, ready=written, both=True)
    until(lambda: not alive(pid))
    left = [path for path in (tmp_path / "snapshots").rglob("*") if ".spill-" in str(path)]
    assert [path for path in left if path.suffix == ".tmp"]
    assert {path.stat().st_mode & 0o777 for path in left if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in left if path.is_file()} == {0o600}
    clean()
    found = sorted(path.name for path in (tmp_path / "snapshots").iterdir())
    assert found == ["rank.key", "visits-000001.duckdb"], "data were left on the disk"


def test_no_spill_is_left_after_a_kill(tmp_path: Path) -> None:
    check_no_spill_is_left(tmp_path, lambda: make(tmp_path))


def test_planted_spill_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "remove_abandoned", lambda folder: None)
    with pytest.raises(AssertionError, match="left on the disk"):
        check_no_spill_is_left(tmp_path, lambda: make(tmp_path))
    for clean in (lambda engine: engine.keep_only([TABLE]), lambda engine: engine.drop(TABLE)):
        clean(make(tmp_path))
        assert list((tmp_path / "snapshots").glob(".spill-*"))
    remove_abandoned(tmp_path / "snapshots")
    assert not list((tmp_path / "snapshots").glob(".spill-*"))


def test_the_spill_of_a_living_worker_is_left_alone(tmp_path: Path) -> None:
    engine = make(tmp_path)
    with engine.slot():
        (spill,) = (tmp_path / "snapshots").glob(".spill-*")
        make(tmp_path).keep_only([TABLE])
        assert spill.exists()
        assert count(engine) == 3
    engine.close()
    assert not spill.exists()


def test_lists_of_values_are_no_joins(tmp_path: Path) -> None:
    """Columns derived above a join are written out again and again; without the setting a list becomes one."""
    listed = (
        "SELECT SUM(a) FROM (SELECT CASE WHEN x IN (1, 3, 5, 7, 9, 11) THEN 0 ELSE x END AS a, x FROM {}) WHERE a > 1"
    )
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT range AS x FROM range(9)")
        (plain,) = connection.execute(f"EXPLAIN {listed.format('rows')}").fetchall()
    cursor = worker.Databases({}, str(tmp_path), "1MB").cursor((("t", str(path)),))
    (ours,) = cursor.execute(f"EXPLAIN {listed.format('t.rows')}").fetchall()
    assert "MARK" in plain[1].upper()
    assert "MARK" not in ours[1].upper()
