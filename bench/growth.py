"""What grows with what: rows, owners, groups and ledger entries, each from small to large with all else as it is.

    python bench/growth.py [--rows 10000000] [--entries 100000] [--folder FOLDER]

An exponent is the slope of the logarithm of a time over that of a count, where times are above what any question
costs: 1 is linear, 0 is no growth. The last table extrapolates what a row costs to 10^11 rows, on paper: it takes disk
and processors as they were here, and all rows in reach of one scan. Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dither as dt
from server_ledger import long_ledger

ROUNDS = 3
PIECE = 1_000_000  # rows of synthetic data at a time
GROUPS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
QUESTIONS = {
    "filtered count": "SELECT COUNT(*) FROM visits WHERE age >= 40",
    "50 groups": "SELECT region, COUNT(*), AVG(amount) FROM visits GROUP BY region",
    "owners": "SELECT COUNT(DISTINCT owner) FROM visits",
}
FLOOR = 0.03  # seconds: below it a time is mostly what every question costs


def make_visits(path: Path, rows: int, owners: int) -> None:
    """In pieces, so that as many rows as disks hold can be made."""
    generator = np.random.default_rng(rows + owners)
    most = {"owner": owners, "age": 100, "region": 50, "amount": 10_000} | {f"g{groups}": groups for groups in GROUPS}
    with pq.ParquetWriter(path, pa.schema([(name, pa.int64()) for name in most])) as file:
        for start in range(0, rows, PIECE):
            size = min(PIECE, rows - start)
            file.write_table(pa.table({name: generator.integers(0, below, size) for name, below in most.items()}))


def columns() -> dict[str, Any]:
    declared: dict[str, Any] = {"age": dt.Int(0, 99), "region": dt.Int(0, 49), "amount": dt.Int(0, 9_999)}
    return declared | {f"g{groups}": dt.Int(0, groups - 1) for groups in GROUPS}


class Table:
    """A table of so many rows and owners behind a curator, and what it took to load it."""

    def __init__(self, folder: Path, rows: int, owners: int) -> None:
        self.rows, source = rows, folder / f"{rows}-{owners}.parquet"
        make_visits(source, rows, owners)
        self.folder = folder / "curator"
        self.curator = dt.Curator.open(self.folder, create=True)
        named: dict[str, Any] = {"owner": "owner", "max_rows_per_owner": 1000, "columns": columns()}
        self.loading = seconds(
            lambda: self.curator.register("visits", source, budget=dt.PureDP(9_000), max_rows=rows, **named)
        )
        self.source = source.stat().st_size
        self.stored = sum(file.stat().st_size for file in self.folder.rglob("*.duckdb"))
        source.unlink()

    def asked(self, sql: str) -> float:
        """Seconds of a question that was not asked before, at the best of some tries; the first warms up."""
        prices = (f"0.1{number:05d}" for number in range(100_000))
        return min(seconds(lambda: self.curator.sql(sql, epsilon=next(prices))) for _ in range(1 + ROUNDS))

    def remove(self) -> None:
        self.curator.close()
        shutil.rmtree(self.folder)


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def exponent(counts: Sequence[int], times: Sequence[float]) -> str:
    """The slope over the two largest counts whose times stand above the floor, if there are two."""
    above = [(math.log(count), math.log(taken)) for count, taken in zip(counts, times, strict=True) if taken > FLOOR]
    if len(above) < 2:
        return "too quick to tell"
    (x, y), (further, longer) = above[-2:]
    return f"{(longer - y) / (further - x):.2f}"


def show(what: str, counts: Sequence[int], taken: dict[str, list[float]]) -> None:
    print(f"\n| {what} | {' | '.join(f'{count:,}' for count in counts)} | exponent |")
    print("|---" * (len(counts) + 2) + "|")
    for name, times in taken.items():
        shown = " | ".join(f"{one:.3f} s" for one in times)
        print(f"| {name} | {shown} | {exponent(counts, times)} |", flush=True)


def by_rows(folder: Path, most: int) -> None:
    counts = [10**power for power in range(5, round(math.log10(most)) + 1)]
    taken: dict[str, list[float]] = {"loading": [], **{name: [] for name in QUESTIONS}}
    for rows in counts:
        table = Table(folder, rows, rows // 10)
        taken["loading"].append(table.loading)
        for name, sql in QUESTIONS.items():
            taken[name].append(table.asked(sql))
        table.remove()
    show("rows", counts, taken)
    on_paper(table, {name: found[-1] for name, found in taken.items()})


def by_owners(folder: Path, rows: int) -> None:
    counts = [rows // 1000, rows // 100, rows // 10, rows]
    taken: dict[str, list[float]] = {"loading": [], "owners": []}
    for owners in counts:
        table = Table(folder, rows, owners)
        taken["loading"].append(table.loading)
        taken["owners"].append(table.asked(QUESTIONS["owners"]))
        table.remove()
    show(f"owners of {rows:,} rows", counts, taken)


def by_groups(folder: Path, rows: int) -> None:
    table = Table(folder, rows, rows // 20)
    taken = [table.asked(f"SELECT g{groups}, COUNT(*) FROM visits GROUP BY g{groups}") for groups in GROUPS]
    table.remove()
    show(f"groups of {rows:,} rows", GROUPS, {"answer": taken})


def by_entries(folder: Path, most: int) -> None:
    counts = [10**power for power in range(3, round(math.log10(most)) + 1)]
    found = [long_ledger(folder / f"entries-{count}", count) for count in counts]
    show("ledger entries", counts, {"opening": [one[0] for one in found], "a charge": [1 / one[1] for one in found]})


def on_paper(table: Table, times: dict[str, float]) -> None:
    print(f"\n| what | a row, at {table.rows:,} | 10^9 rows | 10^11 rows |\n|---|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {1e9 * taken / table.rows:.1f} ns | {hours(taken, table, 9)} | {hours(taken, table, 11)} |")
    for name, size in (("Parquet", table.source), ("snapshot", table.stored)):
        each = size / table.rows
        print(f"| {name} | {each:.1f} bytes | {each:.0f} GB | {each / 10:.1f} TB |")


def hours(taken: float, table: Table, power: int) -> str:
    total = taken * 10**power / table.rows
    return f"{total:.0f} s" if total < 600 else f"{total / 3600:.1f} h"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where data are made; a temporary one if none is given")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", dt.errors.LoadWarning)
    with tempfile.TemporaryDirectory(prefix="dither-growth-", dir=options.folder) as scratch:
        folder = Path(scratch)
        by_rows(folder, options.rows)
        by_owners(folder, min(options.rows, 1_000_000))
        by_groups(folder, min(options.rows, 10_000_000))
        (folder / "ledgers").mkdir()
        by_entries(folder / "ledgers", options.entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
