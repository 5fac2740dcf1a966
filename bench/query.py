"""Private answers against plain ones, in one run: engine time, the rest of the walk, memory, and loading.

    python bench/query.py [--rows 10000000] [--folder FOLDER]

Plain queries run on the raw table in DuckDB's own storage, private ones through the curator on its snapshot, with
owner-level privacy. Times are medians of interleaved runs. Prints one line a figure and exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import secrets
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUERIES = {
    "count, filtered": "SELECT COUNT(*) FROM visits WHERE age >= 40",
    "sum, filtered": "SELECT SUM(amount) FROM visits WHERE region = 'r03'",
    "avg, filtered": "SELECT AVG(amount) FROM visits WHERE age BETWEEN 30 AND 50",
    "50 groups": "SELECT region, COUNT(*), AVG(amount) FROM visits GROUP BY region",
    "10,000 groups": "SELECT zipcode, COUNT(*), AVG(amount) FROM visits GROUP BY zipcode",
}
ROUNDS = 15
SLOWEST_ENGINE, LONGEST_WALK, LARGEST_MEMORY = 1.0, 10.0, 1.5  # ratio, milliseconds, ratio
SLOWEST_LOAD, LOADS = 6.0, 3  # ratio, rounds


def make_visits(path: Path, rows: int) -> None:
    """Synthetic visits: people with skewed activity (10 on average), homes, ages and amounts."""
    generator = np.random.default_rng(20240 + rows)
    people = max(rows // 10, 1)
    activity = generator.lognormal(0.0, 1.0, people)
    person = np.searchsorted(np.cumsum(activity) / activity.sum(), generator.random(rows)).clip(max=people - 1)
    age = np.clip(generator.normal(45, 17, people).round(), 18, 95).astype(np.int64)
    home = np.minimum(generator.geometric(0.07, people) - 1, 49)
    region = np.where(generator.random(rows) < 0.9, home[person], generator.integers(0, 50, rows))
    visits = pa.table(
        {
            "user_id": person.astype(np.int64),
            "region": pa.array(np.array([f"r{k:02d}" for k in range(50)])[region]),
            "zipcode": (region * 200 + np.minimum(generator.geometric(0.02, rows) - 1, 199)).astype(np.int64),
            "amount": generator.lognormal(3.0, 1.0, rows),
            "age": age[person],
        }
    )
    pq.write_table(visits, path, row_group_size=1 << 20)


def open_curator(folder: Path) -> Any:
    import dither as dt

    return dt.Curator.open(folder / "clinic")


def load(folder: Path, rows: int) -> bool:
    """Registering, verification included, against a plain CREATE TABLE AS of the same file; the last ones stay."""
    plain, private, processor = [], [], []
    for _ in range(LOADS):
        (folder / "raw.duckdb").unlink(missing_ok=True)
        shutil.rmtree(folder / "clinic", ignore_errors=True)
        before = time.process_time()
        plain.append(milliseconds(lambda: plain_connection(folder).close()))
        between = time.process_time()
        private.append(register(folder))
        processor.append((time.process_time() - between) / (between - before))
    seconds = statistics.median(private) / 1000
    print(f"registering        {rows:,} rows in {seconds:.1f} s: {rows / seconds:,.0f} rows/s")
    print(f"processor time     {statistics.median(processor):.2f}x that of the plain load")
    return verdict("loading", statistics.median(private) / statistics.median(plain), SLOWEST_LOAD, "x")


def register(folder: Path) -> float:
    import dither as dt

    with open_curator(folder) as curator:
        curator.people("patients", budget=dt.PureDP(9000), oversubscribe=True)
        started = time.perf_counter()
        curator.register(
            "visits",
            folder / "visits.parquet",
            people="patients",
            owner="user_id",
            max_rows_per_owner=100,
            columns={
                "region": dt.Category([f"r{k:02d}" for k in range(50)]),
                "zipcode": dt.Int(0, 9999),
                "amount": dt.Fixed(0, 100, decimals=2),
                "age": dt.Int(0, 120),
            },
        )
        return 1000 * (time.perf_counter() - started)


def plain_connection(folder: Path) -> Any:
    import duckdb

    path = folder / "raw.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE visits AS FROM '{folder / 'visits.parquet'}'").fetchall()
    return duckdb.connect(str(path), read_only=True)


def milliseconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


class TimedEngine:
    """The curator's engine, with the time spent in it."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.spent, self.cpu = engine, 0.0, 0.0

    def run(self, statement: Any) -> Any:
        started, cpu = time.perf_counter(), time.thread_time()
        try:
            return self.engine.run(statement)
        finally:
            self.spent += 1000 * (time.perf_counter() - started)
            self.cpu += 1000 * (time.thread_time() - cpu)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class Syncs:
    """Time spent making data durable. Calls from Python are timed as they happen. Those inside the ledger's two commits
    cannot be, so two bare commits of one page to a database of its own, right after the question, stand for them."""

    NAMES = ("fsync", "fdatasync")

    def __init__(self, folder: Path) -> None:
        self.database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            self.database.execute(f"PRAGMA {setting}")
        self.database.execute("CREATE TABLE IF NOT EXISTS pages (page BLOB)")
        self.system = {name: getattr(os, name) for name in self.NAMES}
        self.spent = 0.0
        self.bare: list[float] = []

    def __enter__(self) -> Syncs:
        for name, call in self.system.items():
            setattr(os, name, lambda descriptor, call=call: self._timed(lambda: call(descriptor)))
        return self

    def __exit__(self, *_: object) -> None:
        for name, call in self.system.items():
            setattr(os, name, call)
        self.database.close()

    def _timed(self, work: Callable[[], None]) -> None:
        self.spent += milliseconds(work)

    def two_bare_commits(self) -> float:
        """Milliseconds that nothing but durability costs."""
        for _ in range(2):
            self.bare.append(milliseconds(lambda: self.database.execute("INSERT INTO pages VALUES (zeroblob(4096))")))
        return sum(self.bare[-2:])


def somebody(curator: Any) -> Any:
    """Somebody new, who has no answers yet."""
    import dither as dt

    return curator.analyst(f"bench{secrets.token_hex(8)}", budget=dt.PureDP(9000))


def compare(folder: Path, syncs: Syncs) -> list[bool]:
    """Engine against plain query, and the walk around the engine."""
    plain = plain_connection(folder)
    curator = open_curator(folder)
    timed = curator._engine = TimedEngine(curator._engine)
    analyst = somebody(curator)
    ratios, walks, price = [], [], 0
    for name, sql in QUERIES.items():
        bare, engine, walk, cpu = [], [], [], []
        for round_ in range(-2, ROUNDS):  # the first two warm both sides up
            asked = milliseconds(lambda sql=sql: plain.sql(sql).to_arrow_table())
            price += 1
            timed.spent = timed.cpu = syncs.spent = 0.0
            cpu_before = time.thread_time()
            # Dearer than any time before: no stored answer will do, and no ready table of noise.
            total = milliseconds(lambda sql=sql, price=price: analyst.sql(sql, epsilon=f"0.5{price:04d}"))
            cpu.append(1000 * (time.thread_time() - cpu_before) - timed.cpu)
            rest = total - timed.spent - syncs.spent - syncs.two_bare_commits()
            if round_ >= 0:
                bare.append(asked)
                engine.append(timed.spent)
                walk.append(max(rest, cpu[-1]))
        ours, theirs = statistics.median(engine), statistics.median(bare)
        ratios.append(ours / theirs)
        walks += walk
        print(
            f"{name:18} plain {theirs:7.1f} ms   engine {ours:7.1f} ms   {ours / theirs:5.2f}x"
            f"   rest of the walk {statistics.median(walk):5.1f} ms ({statistics.median(cpu):.1f} ms of CPU)"
        )
    plain.close()
    curator.close()
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    fsync = f" ms (median, beyond bare commits of {statistics.median(syncs.bare):.2f} ms)"
    return [
        verdict("engine / plain", mean, SLOWEST_ENGINE, "x (geometric mean)"),
        verdict("rest of the walk", statistics.median(walks), LONGEST_WALK, fsync),
    ]


def peak_memory(folder: Path, side: str) -> float:
    """Peak megabytes of a process that runs every query once."""
    command = [sys.executable, __file__, "--folder", str(folder), "--side", side]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["peak"])


def run_side(folder: Path, side: str) -> None:
    if side == "plain":
        plain = plain_connection(folder)
        for sql in QUERIES.values():
            plain.sql(sql).to_arrow_table()
    else:
        with open_curator(folder) as curator:
            analyst = somebody(curator)
            for sql in QUERIES.values():
                analyst.sql(sql, epsilon="0.7")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # that ran the statements; both peaks are added up
    print(json.dumps({"peak": (int(peak.split()[1]) + worker) / 1024}))


def verdict(what: str, value: float, limit: float, unit: str) -> bool:
    held = value <= limit
    print(f"{'PASS' if held else 'FAIL'}  {what}: {value:.2f}{unit}, limit {limit:g}")
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where data are made; kept and used again if it is there")
    parser.add_argument("--side", choices=["plain", "private"], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.side:
        run_side(options.folder, options.side)
        return 0
    with tempfile.TemporaryDirectory(prefix="dither-bench-") as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "visits.parquet").exists():
            make_visits(folder / "visits.parquet", options.rows)
        with Syncs(folder) as syncs:  # before dither is imported, so that no call escapes it
            held = [] if (folder / "clinic").exists() else [load(folder, options.rows)]
            held += compare(folder, syncs)
        plain, private = (peak_memory(folder, side) for side in ("plain", "private"))
        print(f"peak memory        plain {plain:.0f} MB   private {private:.0f} MB")
        held.append(verdict("memory", private / plain, LARGEST_MEMORY, "x"))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
