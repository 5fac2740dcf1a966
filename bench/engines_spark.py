"""Private against plain queries on the same Spark application, in one run, with the visits of `query.py`.

    python bench/engines_spark.py [--rows 1000000] [--cores 2] [--layouts]

Plain queries run on the raw Parquet file, private ones through the curator on its snapshot, made of the same file by
the same application, with owner-level privacy. Times are medians of interleaved runs of the statements alone. With
--layouts, some statements also run on a snapshot that is not sorted by rank and on a table bucketed by owner. Exits 1
if a limit is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]
import dither as dt  # noqa: E402
from query import QUERIES, TimedEngine, make_visits, milliseconds, somebody, verdict  # noqa: E402

ROUNDS = 5
SLOWEST = 1.3  # ratio, geometric mean
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.io.encryption.enabled": "true",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start(cores: int, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.sql.warehouse.dir", str(folder / "tables"))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def open_curator(folder: Path, session: Any) -> Any:
    curator = dt.Curator.open(folder / "clinic", create=True, engines={"spark": dt.Spark(session, folder / "lake")})
    curator.people("patients", budget=dt.PureDP(9000), oversubscribe=True)
    columns = {
        "region": dt.Category([f"r{k:02d}" for k in range(50)]),
        "zipcode": dt.Int(0, 9999),
        "amount": dt.Fixed(0, 100, decimals=2),
        "age": dt.Int(0, 120),
    }
    named: dict[str, Any] = {"owner": "user_id", "max_rows_per_owner": 100, "columns": columns}
    curator.register("visits", session.table("visits"), people="patients", engine="spark", **named)
    return curator


def compare(curator: Any, session: Any) -> float:
    timed = curator._engine = TimedEngine(curator._engine)
    analyst, ratios, price = somebody(curator), [], 0
    for name, sql in QUERIES.items():
        bare, private = [], []
        for round_ in range(-2, ROUNDS):  # the first two warm both sides up
            asked = milliseconds(lambda sql=sql: session.sql(sql).toArrow())
            price, timed.spent = price + 1, 0.0
            analyst.sql(sql, epsilon=f"0.5{price:04d}")
            if round_ >= 0:
                bare.append(asked)
                private.append(timed.spent)
        ours, theirs = statistics.median(private), statistics.median(bare)
        ratios.append(ours / theirs)
        print(f"{name:18} plain {theirs:7.1f} ms   private {ours:7.1f} ms   {ours / theirs:5.2f}x")
    return math.exp(statistics.fmean(map(math.log, ratios)))


LAYOUT_QUERIES = {
    "few rows of each": "SELECT region, SUM(amount) FROM {} WHERE _rank <= 3 GROUP BY region",
    "all rows": "SELECT region, SUM(amount) FROM {} WHERE _rank <= 100 GROUP BY region",
    "owners by group": "SELECT region, COUNT(DISTINCT _owner) FROM {} GROUP BY region",
}


def compare_layouts(session: Any, lake: Path) -> None:
    """The snapshot as it is, in no order, and bucketed by owner and sorted by rank within buckets."""
    snapshot = session.read.parquet(str(next(lake.glob("visits-*"))))
    snapshot.createOrReplaceTempView("by_rank")
    (shuffled := lake / "no_order").mkdir()
    snapshot.orderBy("zipcode", "amount").write.mode("overwrite").parquet(str(shuffled))
    session.read.parquet(str(shuffled)).createOrReplaceTempView("no_order")
    snapshot.write.bucketBy(4, "_owner").sortBy("_rank").saveAsTable("bucketed")
    for name, sql in LAYOUT_QUERIES.items():
        found = {}
        for layout in ("by_rank", "no_order", "bucketed"):
            asked = sql.format(layout)
            times = [milliseconds(lambda asked=asked: session.sql(asked).toArrow()) for _ in range(ROUNDS + 2)]
            found[layout] = statistics.median(times[2:])
        print(f"{name:18}" + "".join(f"   {layout} {taken:7.1f} ms" for layout, taken in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--layouts", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_visits(folder / "visits.parquet", given.rows)
        session = start(given.cores, folder)
        session.read.parquet(str(folder / "visits.parquet")).createOrReplaceTempView("visits")
        opened: list[Any] = []
        copied = milliseconds(lambda: session.table("visits").write.parquet(str(folder / "copy")))
        loaded = milliseconds(lambda: opened.append(open_curator(folder, session)))
        print(
            f"{given.rows:,} rows: Spark copies them in {copied / 1000:.1f} s, a snapshot takes {loaded / 1000:.1f} s"
        )
        with opened[0] as curator:
            good = verdict("private / plain", compare(curator, session), SLOWEST, "x (geometric mean)")
        if given.layouts:
            compare_layouts(session, folder / "lake")
        session.stop()
    sys.exit(not good)


if __name__ == "__main__":
    main()
