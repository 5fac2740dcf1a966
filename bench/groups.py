"""Medians and modes of many groups: private answers against DuckDB's exact ones, in one run.

    python bench/groups.py [--rows 1000000] [--groups 3000 10000 1000000] [--rounds 5] [--forms MEDIAN MODE]

Rows are spread evenly over the groups, values over 100,000 declared ones. Keys are declared (`public`) or come from the
data (`text`; one row in a group is rarely shown, so not at the largest number). Times are the least of all rounds, each
at a price of its own so that no stored answer is read, and each with a plain query beside it. Memory is the peak of
choosing alone, over the size of the histogram that it is given. Exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dither as dt
from dither.mechanisms.keys.groups import choose_values, seal_histogram

VALUES = 100_000
FORMS = {"MEDIAN": ("MEDIAN(x)", "median(x)"), "MODE": ("MODE() WITHIN GROUP (ORDER BY x)", "mode(x)")}
LONGEST, LARGEST = 5.0, 4.0  # seconds of an answer, and times the histogram


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def made(rows: int, groups: int) -> pa.Table:
    generator = np.random.default_rng(rows + groups)
    key = generator.integers(0, groups, rows)
    x = np.clip(generator.lognormal(8.0, 1.0, rows), 0, VALUES - 1).astype(np.int64)
    return pa.table({"owner": np.arange(rows) // 2, "k": key, "t": pa.array(key).cast(pa.string()), "x": x})


def compare(table: pa.Table, groups: int, rounds: int, forms: list[str]) -> bool:
    import duckdb

    kinds = {"public": "k"} if groups > table.num_rows // 10 else {"public": "k", "text": "t"}
    columns = {"k": dt.Int(0, groups - 1, nullable=False, default=0), "t": dt.Text(), "x": dt.Int(0, VALUES - 1)}
    budget = dt.ApproxDP(9000, "0.5", composition="basic")
    good = True
    with tempfile.TemporaryDirectory() as folder, dt.Curator.open(Path(folder) / "curator") as curator:
        curator.register("t", table, owner="owner", max_rows_per_owner=2, columns=columns, budget=budget)
        with duckdb.connect() as plain:
            plain.register("given", table)
            plain.execute("CREATE TABLE t AS FROM given").fetchall()
            for name in forms:
                for kind, key in kinds.items():
                    good &= timed(curator, plain, name, kind, key, groups, rounds)
    return good


def timed(curator: dt.Curator, plain: Any, name: str, kind: str, key: str, groups: int, rounds: int) -> bool:
    ours, theirs = (f"SELECT {key}, {form} FROM t GROUP BY {key}" for form in FORMS[name])
    bare, private = [], []
    for round_ in range(rounds):
        paid = {"epsilon": f"10.{round_:04d}", **({"delta": "1e-3"} if kind == "text" else {})}
        bare.append(seconds(lambda: plain.sql(theirs).to_arrow_table()))
        private.append(seconds(lambda paid=paid: curator.sql(ours, **paid)))
    exact, least = min(bare), min(private)
    verdict = "ok" if least <= LONGEST else f"MISSED: {LONGEST} s"
    what = f"{name:6} {groups:9,} groups, {kind:6}"
    print(f"{what}  plain {exact:7.3f} s   private {least:7.3f} s   {least / exact:6.1f}x   {verdict}", flush=True)
    return least <= LONGEST


def memory(rows: int, groups: int) -> bool:
    """The peak of choosing, as a multiple of a histogram of as many lines and groups: 24 bytes each."""
    generator = np.random.default_rng(rows)
    lines = [generator.integers(0, groups, rows), generator.integers(0, VALUES, rows), np.ones(rows, np.int64)]
    good = True
    for mechanism in (
        dt.Quantile(epsilon=1, q="0.5", lower=0, upper=VALUES - 1),
        dt.Exponential(epsilon=1, sensitivity=1),
    ):
        sealed = seal_histogram([], *lines)
        tracemalloc.start()
        choose_values(sealed, mechanism, groups, 0, VALUES - 1)
        times = tracemalloc.get_traced_memory()[1] / (24 * (rows + groups))
        tracemalloc.stop()
        good &= times <= LARGEST
        what = f"memory of {type(mechanism).__name__:11} {groups:9,} groups, {rows:,} lines"
        print(f"{what}: {times:.1f} times the histogram")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--groups", type=int, nargs="+", default=[3000, 10_000, 10**6])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=list(FORMS))
    given = parser.parse_args()
    good = [compare(made(given.rows, groups), groups, given.rounds, given.forms) for groups in given.groups]
    return 0 if all([*good, memory(given.rows, max(given.groups))]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
