"""How fast the toolbox looks at data, beside NumPy, SciPy and igraph, interleaved in one run.

    python bench/toolbox.py            # exit status 1 if a requirement is missed

Every time is the least of several rounds; in each round all contenders run once, one after the other. Memory is the
largest amount that Python, NumPy and SciPy arrays held at once during a call, beyond what was there before it.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from dither import Quantile, sensitivity
from dither.sensitivity.graphs.graph import Graph

RECORDS = 10**7
VERTICES, EDGES = 200_000, 10**6
WEIGHTED_EDGES = 10**5

checks: list[tuple[str, str, bool]] = []


def require(what: str, found: str, holds: bool) -> None:
    checks.append((what, found, holds))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least time of each contender over interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(seconds(run))
    return {name: min(found) for name, found in times.items()}


def megabytes(run: Callable[[], object]) -> float:
    """The peak of memory during a call."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        run()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e6
    finally:
        tracemalloc.stop()


def bench_median() -> None:
    rng = np.random.default_rng(1)
    salaries = rng.lognormal(10, 1, RECORDS)
    print(f"Smooth sensitivity of the median of {RECORDS:,} records on [0, 10^6].")
    for kind, x in (("float64", salaries), ("int64", salaries.astype(np.int64))):
        for beta in ("0.01", "0.1", "0.7"):
            runs = {
                "ours": lambda x=x, beta=beta: sensitivity.median.with_smooth(x, beta, 0, 10**6),
                "numpy": lambda x=x: np.median(x),
                "sort": lambda x=x: np.sort(x),
            }
            found = best(runs, 5)
            ratio = found["ours"] / found["numpy"]
            print(
                f"  {kind}, beta {beta}: value and smooth bound {found['ours'] * 1e3:.0f} ms,"
                f" numpy.median {found['numpy'] * 1e3:.0f} ms ({ratio:.2f}x), numpy.sort {found['sort'] * 1e3:.0f} ms"
            )
            require(f"smooth median, {kind}, beta {beta}: <= 2x numpy.median", f"{ratio:.2f}x", ratio <= 2)


def bench_quantile() -> None:
    """The exponential mechanism's quantile, from the column to the answer, beside a sort of the same records."""
    salaries = np.random.default_rng(1).lognormal(10, 1, RECORDS)
    print(f"\nQuantile of {RECORDS:,} records on [0, 10^7] by the exponential mechanism.")
    for kind, x, grid in (("float64", salaries, "0.01"), ("int64", salaries.astype(np.int64), 1)):
        for epsilon, q in (("0.01", "0.5"), ("1", "0.5"), ("1", "0.9")):
            mechanism = Quantile(epsilon=epsilon, q=q, lower=0, upper=10**7, grid=grid)
            runs = {"ours": lambda m=mechanism, x=x: m.release(x), "sort": lambda x=x: np.sort(x)}
            found = best(runs, 5)
            ratio = found["ours"] / found["sort"]
            print(
                f"  {kind}, epsilon {epsilon}, q {q}: {found['ours'] * 1e3:.0f} ms,"
                f" numpy.sort {found['sort'] * 1e3:.0f} ms ({ratio:.2f}x)"
            )
            require(f"quantile {q}, {kind}, epsilon {epsilon}: <= 2x numpy.sort", f"{ratio:.2f}x", ratio <= 2)


def power_law_graph(vertices: int, edges: int) -> Graph:
    """Expected degrees fall as a power of the rank; the edges are distinct."""
    rng = np.random.default_rng(3)
    weight = np.arange(1, vertices + 1) ** -0.55
    draws = rng.choice(vertices, (int(edges * 1.05), 2), p=weight / weight.sum())
    graph = Graph.read(draws, vertices)
    kept = np.sort(rng.permutation(len(graph.first))[:edges])
    return Graph(vertices, graph.first[kept], graph.second[kept])


def bench_triangles() -> None:
    from scipy.sparse import csr_array

    graph = power_law_graph(VERTICES, EDGES)
    row, column = np.concatenate([graph.first, graph.second]), np.concatenate([graph.second, graph.first])
    matrix: Any = csr_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=(VERTICES, VERTICES))
    degree = np.diff(matrix.indptr)
    print(f"\nTriangles of a power-law graph: {len(graph.first):,} edges, largest degree {degree.max():,}.")

    def ours() -> tuple[int, Any]:
        return sensitivity.triangles.with_smooth(graph, "0.1")

    runs: dict[str, Callable[[], object]] = {"ours": ours, "A @ A": lambda: matrix @ matrix}
    if importlib.util.find_spec("igraph") is not None:
        import igraph

        other = igraph.Graph(n=VERTICES, edges=np.stack([graph.first, graph.second], axis=1))
        runs["igraph"] = lambda: len(other.list_triangles())
        require("triangles: the count is igraph's", f"{ours()[0]:,}", ours()[0] == len(other.list_triangles()))
    found = best(runs, 2)
    peak = {"ours": megabytes(ours), "A @ A": megabytes(lambda: matrix @ matrix)}
    for name, least in found.items():
        held = f", {peak[name]:,.0f} MB" if name in peak else " (the plain count)"
        print(f"  {name}: {least:.2f} s{held}")
    time_ratio, memory_ratio = found["ours"] / found["A @ A"], peak["ours"] / peak["A @ A"]
    require("triangles with smooth bound: <= 1.5x the time of A @ A", f"{time_ratio:.2f}x", time_ratio <= 1.5)
    require("triangles with smooth bound: <= 1/3 of its memory", f"{memory_ratio:.3f}x", memory_ratio <= 1 / 3)


def weighted_graph(vertices: int, edges: int) -> list[tuple[int, int, float]]:
    """A ring, so that it is connected, and random chords."""
    rng = np.random.default_rng(2)
    ring = np.stack([np.arange(vertices), (np.arange(vertices) + 1) % vertices], axis=1)
    pairs = np.sort(np.concatenate([ring, rng.integers(0, vertices, (2 * edges, 2))]), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    _, first = np.unique(pairs[:, 0] * vertices + pairs[:, 1], return_index=True)
    pairs = pairs[np.sort(first)[:edges]]
    return [(u, v, w) for (u, v), w in zip(pairs.tolist(), (rng.random(edges) * 100).tolist(), strict=True)]


def bench_mst() -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    for vertices in (20_000, 2_000):
        graph = weighted_graph(vertices, WEIGHTED_EDGES)
        u, v, weight = (np.array(column) for column in zip(*graph, strict=True))
        matrix = csr_array((weight, (u, v)), shape=(vertices, vertices))
        found = best(
            {
                "value": lambda graph=graph: sensitivity.mst_cost.value(graph, 100),
                "local": lambda graph=graph: sensitivity.mst_cost.local(graph, 100),
                "smooth": lambda graph=graph: sensitivity.mst_cost.smooth(graph, "0.1", 100),
                "scipy": lambda matrix=matrix: minimum_spanning_tree(matrix),
            },
            1,
        )
        print(
            f"\nSpanning tree of {WEIGHTED_EDGES:,} edges on {vertices:,} vertices: cost {found['value']:.1f} s, local"
            f" {found['local']:.1f} s, smooth {found['smooth']:.1f} s; SciPy's plain tree {found['scipy']:.2f} s."
        )
        require(
            f"smooth bound of the tree, {vertices:,} vertices: < 60 s", f"{found['smooth']:.1f} s", found["smooth"] < 60
        )


def main() -> int:
    bench_median()
    bench_quantile()
    bench_triangles()
    bench_mst()
    print()
    for what, found, holds in checks:
        print(f"{'PASS' if holds else 'FAIL'}  {what:<62} {found}")
    if importlib.util.find_spec("igraph") is None:
        print("not compared: igraph is not installed")
    return 0 if all(holds for _, _, holds in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
