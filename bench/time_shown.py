"""What the time of an answer shows: one person of very many rows, there or not, at once and on a grid of time.

    python bench/time_shown.py [--rounds 5]

2,000 owners of two rows each, beside them one target of 1,000 rows or none. The question joins the table twice with
itself, at the most rows per owner that default limits admit, and once where the curator admits products of all rows.
Printed are the least and greatest seconds of fresh questions, each at a price of its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import dither as dt

ROWS = 1_000
JOINS = "JOIN t AS b ON b.pid = a.pid JOIN t AS c ON c.pid = a.pid"
SETTINGS = {
    "default limits, 13 rows per owner": (dt.Limits(), 13),
    "products of 8 million rows admitted, 200 rows per owner": (
        dt.Limits(max_join_rows_per_owner=8_000_000, max_growth=10**6),
        200,
    ),
    "default limits, a grid of 0.5 s": (dt.Limits(answer_on_grid="0.5", statement_seconds=15), 13),
}


def measure(folder: Path, target: bool, limits: dt.Limits, rows: int, rounds: int) -> list[float]:
    owners = np.concatenate([np.repeat(np.arange(2_000), 2), np.full(ROWS * target, 2_000)])
    table = pa.table({"pid": owners, "x": np.arange(len(owners)) % 100})
    found = []
    with dt.Curator.open(folder) as curator:
        curator.limits(limits)
        curator.people("people", budget=dt.PureDP(100))
        curator.register(
            "t",
            table,
            people="people",
            owner="pid",
            max_rows_per_owner=ROWS,
            max_rows=10_000,
            columns={"x": dt.Int(0, 99, nullable=False, default=0)},
        )
        for place in range(rounds):
            begun = time.perf_counter()
            text = f"SELECT COUNT(*) FROM t AS a {JOINS} WHERE a.x + c.x > {place}"
            curator.sql(text, epsilon="0.1", rows_per_owner=rows)
            found.append(time.perf_counter() - begun)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("setting | without the target | with the target")
    for name, (limits, rows) in SETTINGS.items():
        shown = []
        for target in (False, True):
            with tempfile.TemporaryDirectory() as made:
                # The first question also starts the worker.
                times = measure(Path(made) / "c", target, limits, rows, rounds + 1)[1:]
            shown.append(f"{min(times):.3f} to {max(times):.3f} s")
        print(" | ".join([name, *shown]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
