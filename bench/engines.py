"""Private against plain queries on the same engine, in one run: PostgreSQL, with the visits of `query.py`.

    python bench/engines.py [--rows 1000000] [--folder FOLDER]

Plain queries run on the raw table, private ones through the curator on its snapshot in the same server, with
owner-level privacy. Times are medians of interleaved runs of the statements alone; what the walk adds to them is what
`query.py` measures. The server is a cluster of its own, in memory where there is some. Exits 1 if a limit is missed.
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

import psycopg
import pyarrow.parquet as pq

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
import dither as dt  # noqa: E402
from clusters import Cluster, close_all  # noqa: E402
from dither.engines.postgres.binary_rows import HEADER, TRAILER, copied  # noqa: E402
from query import QUERIES, TimedEngine, make_visits, milliseconds, somebody, verdict  # noqa: E402

ROUNDS = 9
SLOWEST = 1.3  # ratio, geometric mean
RAW = {"user_id": "BIGINT", "region": "TEXT", "zipcode": "INTEGER", "amount": "DOUBLE PRECISION", "age": "INTEGER"}


def load_raw(folder: Path) -> None:
    """The raw table as anybody would have it: doubles, integers and texts."""
    with psycopg.connect(os.environ["DITHER_TEST_DSN"], autocommit=True) as connection:
        connection.execute(f"CREATE TABLE visits ({', '.join(f'{name} {type_}' for name, type_ in RAW.items())})")
        with connection.cursor() as cursor, cursor.copy("COPY visits FROM STDIN (FORMAT binary)") as copy:
            copy.write(HEADER)
            for batch in pq.ParquetFile(folder / "visits.parquet").iter_batches():
                # A double travels as the whole number that has its bits.
                bits = batch.column("amount").view("int64")
                copy.write(
                    copied(batch.set_column(3, "amount", bits), ["BIGINT", "TEXT", "INTEGER", "BIGINT", "INTEGER"])
                )
            copy.write(TRAILER)
        connection.execute("VACUUM ANALYZE visits")


def open_curator(folder: Path, settings: Any) -> Any:
    curator = dt.Curator.open(folder / "clinic", create=True, engines={"postgres": settings})
    curator.people("patients", budget=dt.PureDP(9000), oversubscribe=True)
    columns = {
        "region": dt.Category([f"r{k:02d}" for k in range(50)]),
        "zipcode": dt.Int(0, 9999),
        "amount": dt.Fixed(0, 100, decimals=2),
        "age": dt.Int(0, 120),
    }
    named: dict[str, Any] = {"owner": "user_id", "max_rows_per_owner": 100, "columns": columns}
    curator.register("visits", folder / "visits.parquet", people="patients", engine="postgres", **named)
    return curator


def compare(curator: Any, plain: Any) -> float:
    timed = curator._engine = TimedEngine(curator._engine)
    analyst, ratios, price = somebody(curator), [], 0
    for name, sql in QUERIES.items():
        bare, private = [], []
        for round_ in range(-2, ROUNDS):  # the first two warm both sides up
            asked = milliseconds(lambda sql=sql: plain.execute(sql, binary=True).fetchall())
            price, timed.spent = price + 1, 0.0
            analyst.sql(sql, epsilon=f"0.5{price:04d}")
            if round_ >= 0:
                bare.append(asked)
                private.append(timed.spent)
        ours, theirs = statistics.median(private), statistics.median(bare)
        ratios.append(ours / theirs)
        print(f"{name:18} plain {theirs:7.1f} ms   private {ours:7.1f} ms   {ours / theirs:5.2f}x")
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as made:
            folder = given.folder or Path(made)
            make_visits(folder / "visits.parquet", given.rows)
            cluster.set(work_mem="256MB", max_wal_size="4GB")  # the same for both sides
            settings = cluster.settings()
            plain_load = milliseconds(lambda: load_raw(folder))
            opened: list[Any] = []
            private_load = milliseconds(lambda: opened.append(open_curator(folder, settings)))
            print(f"loading {given.rows:,} rows: plain {plain_load / 1000:.1f} s, private {private_load / 1000:.1f} s")
            with opened[0] as curator, psycopg.connect(os.environ["DITHER_TEST_DSN"], autocommit=True) as plain:
                good = verdict("private / plain", compare(curator, plain), SLOWEST, "x (geometric mean)")
    finally:
        close_all([cluster])
    sys.exit(not good)


if __name__ == "__main__":
    main()
