"""Private queries beside tmlt.analytics: the same Parquet file, machine and release of Spark, in one run.

    make tumult
    python bench/engines_tumult.py [--rows 1000000] [--cores 2] [--rounds 5] [--tumult .venv-tumult/bin/python]

Tumult Analytics needs an older NumPy, so it runs in an environment of its own, and each side has a Spark application
of its own with the same settings. Both protect all rows of an owner, keep at most 100 of each, and have the same bounds
and public keys. Times are medians of whole questions, from the call to the noisy rows; where one of ours asks for two
aggregates, Tumult is asked twice, as it answers one at a time. Memory is the peak of both processes, Python's and
Java's. Exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parent
FASTEST = 5.0  # times
AT_MOST = 1.0  # of the memory


def median(asked: Callable[[], Any], rounds: int) -> float:
    """Seconds, after one round that warms up."""
    taken = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        asked()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[1:])


def peak() -> int:
    """Bytes that this process and the Java below it have had at most."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, KeyError):
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            own = int(lines["Pid"]) == os.getpid() or int(lines["PPid"]) == os.getpid()
            total += int(lines["VmHWM"].split()[0]) * 1024 if own else 0
    return total


def ask_ours(folder: Path, cores: int, rounds: int) -> dict[str, float]:
    from engines_spark import open_curator, start
    from query import QUERIES, somebody

    session = start(cores, folder)
    session.read.parquet(str(folder / "visits.parquet")).createOrReplaceTempView("visits")
    found, price = {}, 0
    begun = time.perf_counter()
    with open_curator(folder, session) as curator:
        found["loading"] = time.perf_counter() - begun
        analyst = somebody(curator)
        for name, sql in QUERIES.items():

            def asked(sql: str = sql) -> Any:
                nonlocal price
                price += 1
                return analyst.sql(sql, epsilon=f"0.5{price:04d}").to_arrow()

            found[name] = median(asked, rounds)
        found["memory"] = peak()
    session.stop()
    return found


def ask_tumult(folder: Path, cores: int, rounds: int) -> dict[str, float]:
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.sql.warehouse.dir", str(folder / "tumult"))
    for name, value in json.loads((folder / "settings.json").read_text()).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    begun = time.perf_counter()
    visits = Session.from_dataframe(
        PureDPBudget(float("inf")),
        "visits",
        spark.read.parquet(str(folder / "visits.parquet")),
        protected_change=AddRowsWithID("user_id"),
    )
    found = {"loading": time.perf_counter() - begun}
    rows = QueryBuilder("visits").enforce(MaxRowsPerID(100))
    by_region = rows.groupby(KeySet.from_dict({"region": [f"r{k:02d}" for k in range(50)]}))
    by_zipcode = rows.groupby(KeySet.from_dict({"zipcode": list(range(10_000))}))
    queries = {
        "count, filtered": [rows.filter("age >= 40").count()],
        "sum, filtered": [rows.filter("region = 'r03'").sum("amount", 0, 100)],
        "avg, filtered": [rows.filter("age BETWEEN 30 AND 50").average("amount", 0, 100)],
        "50 groups": [by_region.count(), by_region.average("amount", 0, 100)],
        "10,000 groups": [by_zipcode.count(), by_zipcode.average("amount", 0, 100)],
    }
    for name, parts in queries.items():

        def asked(parts: list[Any] = parts) -> Any:
            return [visits.evaluate(part, PureDPBudget(0.25)).toPandas() for part in parts]

        found[name] = median(asked, rounds)
    found["memory"] = peak()
    spark.stop()
    return found


def apart(python: str, side: str, folder: Path, cores: int, rounds: int) -> dict[str, float]:
    """One side in a process of its own."""
    command = [python, __file__, "--side", side, "--folder", str(folder), "--cores", str(cores)]
    command += ["--rounds", str(rounds)]
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    found: dict[str, float] = json.loads((folder / f"{side}.json").read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tumult", default=".venv-tumult/bin/python")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--side", choices=("ours", "tumult"))
    given = parser.parse_args()
    if given.side:
        found = (ask_ours if given.side == "ours" else ask_tumult)(given.folder, given.cores, given.rounds)
        (given.folder / f"{given.side}.json").write_text(json.dumps(found))
        return
    from engines_spark import SETTINGS
    from query import make_visits, verdict

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_visits(folder / "visits.parquet", given.rows)
        (folder / "settings.json").write_text(json.dumps(SETTINGS))
        theirs = apart(given.tumult, "tumult", folder, given.cores, given.rounds)
        ours = apart(sys.executable, "ours", folder, given.cores, given.rounds)
    begun = ours.pop("loading"), theirs.pop("loading")
    print(f"{given.rows:,} rows: a snapshot takes {begun[0]:.1f} s, a session of Tumult {begun[1]:.1f} s")
    memory = [side.pop("memory") for side in (ours, theirs)]
    for name, taken in ours.items():
        print(f"{name:18} ours {taken:7.2f} s   Tumult {theirs[name]:7.2f} s   {theirs[name] / taken:6.1f}x")
    faster = math.exp(statistics.fmean(math.log(theirs[name] / ours[name]) for name in ours))
    print(f"memory: ours {memory[0] / 2**30:.2f} GiB, Tumult {memory[1] / 2**30:.2f} GiB")
    quick = verdict("time / Tumult's", 1 / faster, 1 / FASTEST, f"x (geometric mean; {faster:.1f} times as fast)")
    small = verdict("memory / Tumult's", memory[0] / memory[1], AT_MOST, "x")
    sys.exit(not (quick and small))


if __name__ == "__main__":
    sys.path[:0] = [str(BENCH)]
    main()
