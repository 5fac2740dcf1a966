"""A stated limit of rows after WHERE against one before it: the window that the first takes, in one run.

    python bench/limit_order.py [--rows 1000000]

Ten rows of each owner on average, three of them counted, of one table and of two that are joined by their owners;
times are the least of four whole walks, each at a price never paid before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from itertools import product


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    import numpy as np
    import pyarrow as pa

    import dither as dt

    warnings.simplefilter("ignore", dt.LoadWarning)
    draw = np.random.default_rng(1)
    table = pa.table({"uid": draw.integers(0, rows // 10, rows), "x": draw.integers(0, 1000, rows)})
    with tempfile.TemporaryDirectory(prefix="dither-limit-") as folder, dt.Curator.open(f"{folder}/c") as curator:
        curator.people("people", budget=dt.ApproxDP(1000, "1e-6"), oversubscribe=True)
        told = {"people": "people", "owner": "uid", "max_rows_per_owner": 50}
        curator.register("t", table, columns={"x": dt.Int(0, 999)}, **told)
        curator.register("s", table, columns={"x": dt.Int(0, 999)}, **told)
        joined = "t JOIN s ON t.uid = s.uid WHERE s.x < {0} AND t.x < {0}"
        for kept, source in product((10, 500, 900), ("t WHERE t.x < {0}", joined)):
            text, best = f"SELECT COUNT(*), SUM(t.x) FROM {source.format(kept)}", {}
            for order in ("before_where", "after_where"):
                times = []
                for price in ("0.11", "0.12", "0.13", "0.14"):
                    started = time.perf_counter()
                    curator.sql(text, epsilon=price, rows_per_owner=3, limit_rows=order)
                    times.append(1000 * (time.perf_counter() - started))
                best[order] = min(times)
            before, after = best["before_where"], best["after_where"]
            what = f"{'joined' if source == joined else 'one table'}, WHERE keeps {kept / 10:.0f}%"
            print(f"{what}:  before {before:.0f} ms, after {after:.0f} ms")


if __name__ == "__main__":
    main()
