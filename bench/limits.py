"""The worst questions that default limits admit, on tables of 10^6 rows: what they take beside the circuit breaker.

    python bench/limits.py [--rows 1000000] [--only joins groups] [--list]

Each family of hostile questions has a size: groups, measures, joined rows, characters. The largest size that `explain`
admits is searched for, and that question is asked, in a process of its own, of two tables: 5,000 owners of 200 rows
each, and owners of one row each, with texts at their declared length. Reported are processor seconds of that process
and its worker together, and the peak memory of the worker, as shares of `Limits.statement_seconds` and
`Limits.statement_memory`; and the peak of the asking process as a multiple of 8 bytes for each of `Limits.max_cells`,
which may be 16. Exits 1 if a question fails, passes a limit, or passes the bound on its time that its plan has.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LENGTH = 100  # of the texts
PER_OWNER = 200
EPSILON = "0.0001"
OF_CELLS = 16  # the asking process may take so many times 8 bytes for each of `Limits.max_cells`


def several(template: str, size: int) -> str:
    return ", ".join(template.format(place) for place in range(size))


def selves(joins: int, measure: str = "COUNT(*)") -> str:
    more = (f"JOIN many AS t{place} ON t{place}.pid = t0.pid" for place in range(1, joins + 1))
    return f"SELECT {measure} FROM many AS t0 {' '.join(more)}"


def nested(levels: int, times: int) -> str:
    source = "SELECT pid, name FROM {table}"
    for _ in range(levels):
        source = f"SELECT pid, {' || '.join(['name'] * times)} AS name FROM ({source}) AS q"
    return source


# What is asked at each size, in which `rows_per_owner` may be the size; `{table}` is each of the tables.
Asked = Callable[[int], tuple[str, dict[str, Any]]]
FAMILIES: dict[str, Asked] = {
    "groups": lambda n: (f"SELECT big % {n} AS k, COUNT(*) FROM {{table}} GROUP BY k", {}),
    "filters of 1,000 groups": lambda n: (
        f"SELECT x, {several('COUNT(*) FILTER (WHERE big > {})', n)} FROM {{table}} GROUP BY x",
        {},
    ),
    "medians of groups": lambda n: (f"SELECT big % {n} AS k, MEDIAN(x) FROM {{table}} GROUP BY k", {}),
    "modes of groups": lambda n: (
        f"SELECT big % {n} AS k, MODE() WITHIN GROUP (ORDER BY x) FROM {{table}} GROUP BY k",
        {},
    ),
    "distinct values": lambda n: (f"SELECT {several('COUNT(DISTINCT big + {})', n)} FROM {{table}}", {}),
    "distinct values of groups": lambda n: (
        f"SELECT x, {several('COUNT(DISTINCT big + {})', n)} FROM {{table}} GROUP BY x",
        {},
    ),
    "keys from data": lambda n: (
        f"SELECT name, {several('SUM(x + {})', n)} FROM {{table}} GROUP BY name",
        {"delta": "1e-9"},
    ),
    "one join": lambda n: (selves(1, "SUM(t0.x - t1.x)"), {"rows_per_owner": n}),
    "two joins": lambda n: (selves(2, "SUM(t0.x - t2.x)"), {"rows_per_owner": n}),
    "three joins": lambda n: (selves(3, "SUM(t0.x - t3.x)"), {"rows_per_owner": n}),
    "joined texts": lambda n: (selves(1, "COUNT(DISTINCT t0.name || t1.name)"), {"rows_per_owner": n}),
    "joined groups": lambda n: (f"{selves(1, 't0.x, t1.x, COUNT(*)')} GROUP BY 1, 2", {"rows_per_owner": n}),
    "a search by more than equalities": lambda n: (
        "SELECT COUNT(*) FROM many AS a WHERE NOT EXISTS"
        " (SELECT 1 FROM few AS b WHERE a.pid = b.pid AND (a.big * 31 + b.big) % 1000003 = 7)",
        {"rows_per_owner": n},
    ),
    "a public search": lambda n: (
        "SELECT COUNT(*) FROM {table} WHERE NOT EXISTS (SELECT 1 FROM codes WHERE (code * 31 + big) % 1000003 = 7)",
        {},
    ),
    "long texts": lambda n: (f"SELECT COUNT(*) FROM ({nested(1, n)}) AS q WHERE name LIKE '%a%b%c'", {}),
    "long patterns": lambda n: (
        "SELECT " + several("COUNT(*) FILTER (WHERE name LIKE '%" + "a" * 90 + "{}')", n) + " FROM {table}",
        {},
    ),
    "nested texts": lambda n: (f"SELECT COUNT(*) FROM ({nested(2, n)}) AS q WHERE name LIKE '%a%b%c'", {}),
    "long keys": lambda n: (
        f"SELECT COUNT(DISTINCT {' || '.join(['name'] * n)}) FROM {{table}}",
        {},
    ),
    "windows": lambda n: (
        "SELECT SUM(r0) FROM (SELECT pid, "
        + several("LAG(x, 7) OVER (PARTITION BY pid ORDER BY (big + {0}) % 1009) AS r{0}", n)
        + " FROM {table}) AS q WHERE "
        + " AND ".join(f"r{place} > 0" for place in range(n)),
        {},
    ),
    "windows by long texts": lambda n: (
        f"SELECT SUM(r) FROM (SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid, {' || '.join(['name'] * n)}"
        " ORDER BY big) AS r FROM {table}) AS q",
        {},
    ),
    "different long texts of owners": lambda n: (
        f"SELECT SUM(d) FROM (SELECT pid, COUNT(DISTINCT {' || '.join(['name'] * n)}) AS d FROM {{table}}"
        " GROUP BY pid) AS q",
        {},
    ),
    "medians of owners": lambda n: (
        "SELECT SUM(m0) FROM (SELECT pid, " + several("MEDIAN(big + {0}) AS m{0}", n) + " FROM {table} GROUP BY pid)"
        " AS q WHERE " + " AND ".join(f"m{place} > 0" for place in range(n)),
        {},
    ),
    "powers": lambda n: ("SELECT " + several("SUM(POWER(x + {}, 0.5))", n) + " FROM {table}", {}),
    "public rows beside": lambda n: (
        "SELECT COUNT(*) FROM {table} AS a CROSS JOIN"
        f" (SELECT MAX(code) AS m FROM codes GROUP BY LEAST(code, {n})) AS c WHERE a.big % 7 < c.m",
        {},
    ),
    "a full join": lambda n: (
        "SELECT COUNT(*) FROM many AS a FULL JOIN few AS b ON a.pid = b.pid AND (a.big * 31 + b.big) % 1000003 = 7",
        {"rows_per_owner": n},
    ),
    "totals of owners": lambda n: (
        "SELECT SUM(s) FROM (SELECT pid, big, " + several("SUM(x + {0}) AS s{0}", n) + ", COUNT(*) AS s"
        " FROM {table} GROUP BY pid, big) AS d WHERE " + " AND ".join(f"s{place} > 1" for place in range(n)),
        {},
    ),
}


def make(folder: Path, rows: int) -> None:
    """Owners of many rows and of one, with values that go to their bounds, and a public table."""
    import numpy as np
    import pyarrow as pa

    import dither as dt

    drawn = np.random.default_rng(1)
    names = np.char.add(drawn.integers(0, 10**9, rows).astype(str), "a" * LENGTH).astype(f"<U{LENGTH}")
    columns = {
        "x": dt.Int(0, 999, nullable=False, default=0),
        "big": dt.Int(0, 9_999_999, nullable=False, default=0),
        "name": dt.Text(max_length=LENGTH),
    }
    values = {"x": drawn.integers(0, 1000, rows), "big": drawn.integers(0, 10**7, rows), "name": names}
    with dt.Curator.open(folder) as curator:
        curator.people("people", budget=dt.ApproxDP(1000, "1e-3"))
        for name, per_owner in (("many", PER_OWNER), ("single", 1)):
            source = pa.table({"pid": np.arange(rows) // per_owner, **values})
            told: dict[str, Any] = {"people": "people", "owner": "pid", "max_rows_per_owner": per_owner}
            curator.register(name, source, columns=columns, max_rows=rows, **told)
        few = pa.table({"pid": np.arange(rows) // PER_OWNER, **values}).slice(0, rows)
        told = {"people": "people", "owner": "pid", "max_rows_per_owner": 50, "max_rows": rows}
        curator.register("few", few, columns=columns, **told)
        codes = pa.table({"code": np.arange(2_000)})
        curator.register_public("codes", codes, columns={"code": dt.Int(0, 9_999)}, key="code", max_rows=2_000)


def largest(curator: Any, asked: Asked, table: str) -> tuple[int, str]:
    """The largest size that is admitted, and the words that refuse the next."""
    import dither as dt

    words = ""

    def admitted(size: int) -> bool:
        nonlocal words
        text, stated = asked(size)
        try:
            curator.explain(text.replace("{table}", table), epsilon=EPSILON, **stated)
        except (dt.UnsupportedQuery, dt.ParameterError) as error:
            words = str(error)
            return False
        return True

    low, high = 0, 1
    while high <= 2**23 and admitted(high):
        low, high = high, 2 * high
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low, words


def ask(folder: Path, text: str, stated: dict[str, Any]) -> dict[str, Any]:
    """Ask in this process, and say what it took: of itself, and of the workers that it started and that have ended."""
    import dither as dt

    started = time.perf_counter()
    with dt.Curator.open(folder) as curator:
        curator.limits()
        answer = curator.sql(text, epsilon=EPSILON, **stated)
        cells = len(answer) * len(answer.names)
    own, started_by_it = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "wall": time.perf_counter() - started,
        "seconds": own.ru_utime + own.ru_stime + started_by_it.ru_utime + started_by_it.ru_stime,
        "memory": started_by_it.ru_maxrss * 1024,
        "parent": own.ru_maxrss * 1024,
        "cells": cells,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", help="families whose names begin with one of these")
    parser.add_argument("--list", action="store_true", help="search, but do not ask")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(Path(arguments.make), arguments.rows)
        return 0
    if arguments.one:
        text, stated = json.loads(arguments.one[1])
        print(json.dumps(ask(Path(arguments.one[0]), text, stated)))
        return 0

    import dither as dt
    from dither.sql.admission.work import work

    limits, bad = dt.Limits(), 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "limits"
        # In a process of its own: on Linux the peak of a process counts as that of those it starts.
        subprocess.run([sys.executable, __file__, "--make", str(folder), "--rows", str(arguments.rows)], check=True)
        print(
            "family | table | size | bound s | seconds | of limit | memory MB | of limit | parent / (8 B x max_cells)"
        )
        for family, asked in FAMILIES.items():
            if arguments.only and not family.startswith(tuple(arguments.only)):
                continue
            for table in ("many", "single") if "{table}" in asked(1)[0] else ("many",):
                with dt.Curator.open(folder) as curator:
                    size, words = largest(curator, asked, table)
                    text, stated = asked(size)
                    text = text.replace("{table}", table)
                    priced = curator._walk.price(text, epsilon=EPSILON, **stated) if size else None
                    bound = float(work(priced.aggregates).seconds) if priced else 0.0
                shown = f"{family} | {table} | {size:,} | {bound:,.0f}"
                if arguments.list or not size:
                    print(f"{shown} | next: {words[:150]}", flush=True)
                    continue
                command = [sys.executable, __file__, "--one", str(folder), json.dumps([text, stated])]
                done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
                if done.returncode:
                    bad += 1
                    print(f"{shown} | FAILED: {done.stderr.strip().splitlines()[-1][:200]}", flush=True)
                    continue
                took = json.loads(done.stdout)
                time_share, memory_share = (
                    took["seconds"] / limits.statement_seconds,
                    took["memory"] / limits.statement_memory,
                )
                cells = took["parent"] / (8 * limits.max_cells)
                bad += time_share > 1 or memory_share > 1 or took["seconds"] > bound or cells > OF_CELLS
                print(
                    f"{shown} | {took['seconds']:.1f} | {time_share:.0%} | {took['memory'] / 2**20:,.0f} |"
                    f" {memory_share:.0%} | {cells:.1f}",
                    flush=True,
                )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
