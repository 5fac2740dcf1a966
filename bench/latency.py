"""How long an answer takes, everything included: a count, the first answer of a new process, a million groups; and
what reading and pricing a question takes of it.

    python bench/latency.py [--rows 1000000] [--group-rows 10000000] [--rounds 9] [--folder FOLDER]

All with owner-level privacy, from text to an Arrow table, each question at a price never paid before. Groups are
compared with the plain query on the raw table in DuckDB's own storage, in interleaved rounds. Verdicts are about the
least time of all rounds, since other work on the machine only adds to it; medians are shown beside. A cold start is a
new Python process that imports dither, opens the folder and asks; the interpreter's own start is in it, and modules are
compiled already, as an installation leaves them.

The million groups are by a whole number, whose values are public, and by the same number as text, whose values are
private: groups are then shown if a noisy number of owners passes a threshold. Exits 1 if a limit is missed.

Reading (from text to a question), pricing (from there to a plan with its noise) and all of `explain` are processor
time, the least of rounds in which they take turns with sqlglot's parse of the same text, whose multiples are shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sql_accuracy import make_visits

LONGEST_COUNT, LONGEST_START = 0.025, 0.8  # seconds
TIMES_PLAIN, SECONDS_MORE = 3.0, 0.5
GROUPS = 1_000_000
COUNT = "SELECT COUNT(*) FROM visits"
BY_KEY = {
    "public keys": "SELECT product, COUNT(*) AS n FROM visits GROUP BY product",
    "private keys": "SELECT code, COUNT(*) AS n FROM visits GROUP BY code",
}
TYPICAL = """
SELECT product, COUNT(*) AS n, AVG(amount) AS mean, SUM(CASE WHEN age >= 65 THEN amount ELSE 0 END) AS older FROM visits
WHERE age BETWEEN 20 AND 80 AND amount > 5 GROUP BY product HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 10
"""
FIRST_ANSWER = """
import sys
import dither as dt
with dt.Curator.open(sys.argv[1], create=False) as curator:
    print(curator.analyst(sys.argv[2]).sql("SELECT COUNT(*) FROM visits", epsilon=1))
"""


def prepare(folder: Path, rows: int) -> None:
    """The table, raw and registered, if they are not there yet."""
    import duckdb

    import dither as dt

    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "visits.parquet"
    if not source.exists():
        visits = make_visits(rows)
        code = pc.binary_join_element_wise("p", pc.cast(visits["product"], pa.string()), "")
        pq.write_table(visits.append_column("code", code), source, row_group_size=1 << 20)
    if not (folder / "raw.duckdb").exists():
        with duckdb.connect(str(folder / "raw.duckdb")) as connection:
            connection.execute(f"CREATE TABLE visits AS FROM '{source}'")
    if (folder / "clinic").exists():
        return
    with dt.Curator.open(folder / "clinic") as curator:
        curator.people("people", budget=dt.ApproxDP(1000, "1e-6"), oversubscribe=True)
        started = time.perf_counter()
        curator.register(
            "visits",
            source,
            people="people",
            owner="user_id",
            max_rows_per_owner=100,
            columns={
                "product": dt.Int(0, GROUPS - 1, nullable=False, default=0),
                "code": dt.Text(max_length=7, nullable=False, default=""),
                "amount": dt.Fixed(0, 100, decimals=2, nullable=False, default=0),
                "age": dt.Int(18, 95, nullable=False, default=45),
            },
        )
        seconds = time.perf_counter() - started
        print(f"registered {rows:,} rows in {seconds:.1f} s: {rows / seconds:,.0f} rows/s")


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def price(round_: int) -> str:
    return f"1.000{round_:03d}"


def somebody(curator: Any) -> str:
    """The name of somebody new, who has no answers yet."""
    import dither as dt

    name = f"bench{secrets.token_hex(8)}"
    curator.analyst(name, budget=dt.ApproxDP(1000, "1e-6"))
    return name


def warm_count(folder: Path, rounds: int) -> bool:
    import dither as dt

    with dt.Curator.open(folder / "clinic") as curator:
        analyst = curator.analyst(somebody(curator))
        taken = [
            seconds(lambda round_=round_: analyst.sql(COUNT, epsilon=price(round_)).to_arrow())[0]
            for round_ in range(5 * rounds)
        ]
    return verdict("a count, warm", taken[2:], LONGEST_COUNT)


def cold_start(folder: Path, rounds: int) -> bool:
    import dither as dt

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")

    with dt.Curator.open(folder / "clinic") as curator:
        names = [somebody(curator) for _ in range(rounds + 1)]

    def ask() -> None:
        command = [sys.executable, "-c", FIRST_ANSWER, str(folder / "clinic"), names.pop()]
        subprocess.run(command, check=True, capture_output=True, env=environment)

    ask()  # compiles
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = [seconds(ask)[0] for _ in range(rounds)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rounds
    print(f"a new process: {busy:.2f} s of CPU on average")
    return verdict("the first answer of a new process", taken, LONGEST_START)


def many_groups(folder: Path, name: str, rounds: int) -> bool:
    import duckdb

    import dither as dt

    plain = duckdb.connect(str(folder / "raw.duckdb"), read_only=True)
    bare, private = [], []
    with dt.Curator.open(folder / "clinic") as curator:
        analyst = curator.analyst(somebody(curator))
        for round_ in range(rounds):
            asked, exact = seconds(lambda: plain.sql(BY_KEY[name]).to_arrow_table())
            answered, noisy = seconds(lambda round_=round_: analyst.sql(BY_KEY[name], epsilon=price(round_)).to_arrow())
            bare.append(asked)
            private.append(answered)
    plain.close()
    print(f"{name}: plain {min(bare):.3f} s with {exact.num_rows:,} groups, private {noisy.num_rows:,} groups")
    return verdict(f"GROUP BY {name}", private, TIMES_PLAIN * min(bare) + SECONDS_MORE)


def before_data(folder: Path, rounds: int) -> None:
    """What a question takes before any data are looked at, beside parsing it."""
    import sqlglot

    import dither as dt
    from dither.sql.binding.reading import Readings

    with dt.Curator.open(folder / "clinic") as curator:
        name = somebody(curator)
        analyst, walk = curator.analyst(name), curator._walk
        for what, text in {"a count": COUNT, **BY_KEY, "a typical question": TYPICAL}.items():
            steps: dict[str, Callable[[], Any]] = {
                "parse": lambda text=text: sqlglot.parse_one(text, read="postgres"),
                "reading": lambda text=text: walk.read(name, text),
                "reading and pricing": lambda text=text: walk.price(text, name, epsilon=1),
                "explain": lambda text=text: analyst.explain(text, epsilon=1),
            }
            taken: dict[str, list[float]] = {step: [] for step in steps}
            for _ in range(20 * rounds):
                for step, work in steps.items():
                    walk._readings = Readings()  # which would remember the question
                    started = time.process_time()
                    work()
                    taken[step].append(time.process_time() - started)
            parse = min(taken.pop("parse"))
            shown = (f"{step} {1000 * min(all_):.2f} ms ({min(all_) / parse:.1f}x)" for step, all_ in taken.items())
            print(f"{what}: parse {1000 * parse:.2f} ms; {'; '.join(shown)}")


def verdict(what: str, taken: Sequence[float], limit: float) -> bool:
    held = min(taken) <= limit
    print(
        f"{'PASS' if held else 'FAIL'}  {what}: {min(taken):.4f} s "
        f"(median {statistics.median(taken):.4f} s of {len(taken)}), limit {limit:.3g} s"
    )
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="for the count and the cold start")
    parser.add_argument("--group-rows", type=int, default=10_000_000, help="for groups; 0 leaves them out")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="where data are made; kept and used again if it is there")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dither-latency-") as scratch:
        folder = options.folder or Path(scratch)
        prepare(folder / "count", options.rows)
        held = [warm_count(folder / "count", options.rounds), cold_start(folder / "count", options.rounds)]
        before_data(folder / "count", options.rounds)
        if options.group_rows:
            prepare(folder / "groups", options.group_rows)
            held += [many_groups(folder / "groups", name, options.rounds) for name in BY_KEY]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
