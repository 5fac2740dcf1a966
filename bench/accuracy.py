"""Errors at equal guarantee, beside OpenDP, diffprivlib and PyDP where they are installed, in one run.

    python bench/accuracy.py                          # all sizes up to 10^7; exit status 1 if a requirement is missed
    python bench/accuracy.py --sizes 1000 100000      # a few minutes

A contender is compared under every neighbour relation that its guarantee covers, at the same epsilon and bounds: OpenDP
and PyDP under add_remove; OpenDP's mean and diffprivlib's count and mean, which take the size as public, under replace;
diffprivlib's quantiles, an exponential mechanism with sensitivity 1, under both. Under replace that is the very law
dither draws from (on data without ties), so there "not worse" is all that can be asked. Errors are against the
statistic of the same data without noise. Every figure has sampling noise of its own: "worse" is what a rank test (or
four standard errors, for root mean squares) says, and "better" is asked of the geometric mean over all cases.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dither import Quantile, stats

Run = Callable[[], float]
checks: list[tuple[str, str, bool]] = []
# Of the private median: our error over the best peer's, for each dataset.
ratios: dict[str, list[float]] = {"RMS": [], "median": []}
RUNS = {10**3: 400, 10**5: 120, 10**7: 12}
OPENDP_CANDIDATES = 2001


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def require(what: str, found: str, holds: bool) -> None:
    checks.append((what, found, holds))


def datasets(n: int) -> dict[str, tuple[np.ndarray[Any, Any], float, float]]:
    """Name: records, lower and upper bound."""
    rng = np.random.default_rng(11)
    salary = np.round(np.concatenate([rng.normal(48_000, 9_000, n - n // 20), rng.lognormal(11.6, 0.4, n // 20)]))
    return {
        "uniform": (rng.uniform(0, 100, n), 0.0, 100.0),
        "lognormal": (rng.lognormal(3, 1, n), 0.0, 1000.0),
        # Bounds ten times too wide: nobody earns more than about 400,000.
        "salaries": (np.clip(salary, 0, 400_000), 0.0, 4_000_000.0),
    }


def above(x: Any) -> Any:
    """A yes or no for each record."""
    return x > x[0]


def opendp_runs(x: Any, low: float, high: float, epsilon: float) -> dict[str, Run]:
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    column = x.tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    counting = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1 / epsilon)
    sized = dp.vector_domain(dp.atom_domain(bounds=(low, high), nan=False), size=len(column)), dp.symmetric_distance()
    # d_in = 2 of the symmetric distance is one replaced record.
    averaging = sized >> dp.t.then_mean() >> dp.m.then_laplace(scale=(high - low) / len(column) / epsilon)
    clamped = np.clip(x, low, high).tolist()
    candidates = np.linspace(low, high, OPENDP_CANDIDATES).tolist()
    runs: dict[str, Run] = {
        "count add_remove": lambda: float(counting(column)),
        "mean replace": lambda: float(averaging(clamped)),
    }
    for name, q in (("median", 0.5), ("quantile", 0.9)):
        scored = space >> dp.t.then_quantile_score_candidates(candidates, q)

        def choosing(scale: float, scored: Any = scored) -> Any:
            return scored >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

        scale = dp.binary_search(lambda s: choosing(s).check(1, epsilon), bounds=(1e-6, 1e6))
        chosen = choosing(scale)
        runs[f"{name} add_remove"] = lambda chosen=chosen: candidates[chosen(column)]
    return runs


def diffprivlib_runs(x: Any, low: float, high: float, epsilon: float) -> dict[str, Run]:
    from diffprivlib import tools

    ends = {"epsilon": epsilon, "bounds": (low, high)}
    runs: dict[str, Run] = {
        "count replace": lambda: float(tools.count_nonzero(above(x), epsilon=epsilon)),
        "mean replace": lambda: float(tools.mean(x, **ends)),
    }
    for relation in ("add_remove", "replace"):
        runs[f"median {relation}"] = lambda: float(tools.median(x, **ends))
        runs[f"quantile {relation}"] = lambda: float(tools.quantile(x, 0.9, **ends))
    return runs


def pydp_runs(x: Any, low: float, high: float, epsilon: float) -> dict[str, Run]:
    from pydp.algorithms import laplacian

    column = x.tolist()
    ends = {"epsilon": epsilon, "lower_bound": low, "upper_bound": high, "dtype": "float"}
    return {
        "count add_remove": lambda: float(laplacian.Count(epsilon=epsilon, dtype="float").quick_result(column)),
        "mean add_remove": lambda: float(laplacian.BoundedMean(**ends).quick_result(column)),
        "median add_remove": lambda: float(laplacian.Median(**ends).quick_result(column)),
        "quantile add_remove": lambda: float(laplacian.Percentile(percentile=0.9, **ends).quick_result(column)),
    }


PEERS = {"opendp": opendp_runs, "diffprivlib": diffprivlib_runs, "pydp": pydp_runs}


def our_runs(x: Any, low: float, high: float, epsilon: float) -> dict[str, Run]:
    ends: dict[str, Any] = {"lower": low, "upper": high, "epsilon": epsilon}
    runs: dict[str, Run] = {
        "count add_remove": lambda: float(stats.count(x, epsilon=epsilon)),
        "count replace": lambda: float(stats.count(above(x), epsilon=epsilon, relation="replace")),
    }
    for relation in ("add_remove", "replace"):
        more = ends | {"relation": relation}
        runs[f"mean {relation}"] = lambda more=more: float(stats.mean(x, **more))
        runs[f"median {relation}"] = lambda more=more: float(stats.median(x, **more))
        runs[f"quantile {relation}"] = lambda more=more: float(stats.quantile(x, "0.9", **more))
    return runs


def truth(x: Any, what: str) -> float:
    name = what.split()[0]
    if what == "count replace":
        return float(above(x).sum())
    if name in ("count", "mean"):
        return float(x.size if name == "count" else x.mean())
    return float(np.sort(x)[math.ceil((0.5 if name == "median" else 0.9) * x.size) - 1])


def errors(run: Run, right: float, runs: int, seconds: float) -> np.ndarray[Any, Any]:
    """Absolute errors of up to so many runs, stopping after some seconds but never before six runs."""
    found, start = [], time.perf_counter()
    while len(found) < runs and (len(found) < 6 or time.perf_counter() - start < seconds):
        try:
            found.append(abs(run() - right))
        except Exception:  # noqa: BLE001 - a contender that fails on these data has no figure
            return np.array([])
    return np.array(found)


def compare(sizes: list[int], epsilons: list[float], seconds: float) -> None:
    peers = {name: make for name, make in PEERS.items() if installed(name)}
    print(f"contenders: dither, {', '.join(peers) or 'no peer is installed'}")
    print("n, data, epsilon, statistic and relation: root-mean-square / median error of each\n")
    for n in sizes:
        for data, (x, low, high) in datasets(n).items():
            for epsilon in epsilons:
                made = {"dither": our_runs(x, low, high, epsilon)}
                made |= {name: make(x, low, high, epsilon) for name, make in peers.items()}
                for what in made["dither"]:
                    rivals = [name for name, runs in made.items() if what in runs]
                    right = truth(x, what)
                    found = {name: errors(made[name][what], right, RUNS.get(n, 60), seconds) for name in rivals}
                    report(f"n={n:.0e} {data} eps={epsilon:g} {what}", found)


def report(label: str, found: dict[str, np.ndarray[Any, Any]]) -> None:
    figures = {
        name: (math.sqrt(float((e**2).mean())), float(np.median(e)), e.size) for name, e in found.items() if e.size
    }
    shown = "  ".join(f"{name} {rms:.4g}/{middle:.4g}" for name, (rms, middle, _) in figures.items())
    failed = [name for name in found if not found[name].size]
    print(f"{label}: {shown}" + (f"  (no answer: {', '.join(failed)})" if failed else ""), flush=True)
    rivals = [name for name in figures if name != "dither"]
    if not rivals:
        return
    for kind, place in (("RMS", 0), ("median", 1)):
        best = min(rivals, key=lambda rival: figures[rival][place])
        ours, theirs = figures["dither"][place], figures[best][place]
        holds = ours <= theirs or not surely_worse(found["dither"], found[best], kind)
        require(f"{label}: {kind} error not worse than the best ({best})", f"{ours:.4g} vs {theirs:.4g}", holds)
        if "median add_remove" in label and ours and theirs:
            ratios[kind].append(ours / theirs)


def surely_worse(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], kind: str) -> bool:
    """Beyond noise: by a rank test of the errors, or by four standard errors of a ratio of root mean squares."""
    if kind == "median":
        from scipy.stats import mannwhitneyu

        return bool(mannwhitneyu(ours, theirs, alternative="greater").pvalue < 1e-4)
    # The relative standard error of the root mean square of Laplace-like errors is about 1.2/sqrt(runs).
    slack = 4 * 1.2 * math.sqrt(1 / ours.size + 1 / theirs.size)
    return bool(math.sqrt((ours**2).mean()) > math.sqrt((theirs**2).mean()) * (1 + slack))


def timing(n: int) -> None:
    """The exponential mechanism's quantile against a sort of the same records, interleaved."""
    x = np.random.default_rng(1).lognormal(10, 1, n)
    print(f"\nTime for {n:,} records, least of five interleaved rounds:")
    for epsilon in ("0.01", "1"):
        for kind, column in (("float64", x), ("int64", x.astype(np.int64))):
            mechanism = Quantile(
                epsilon=epsilon, q="0.5", lower=0, upper=10**7, grid="0.01" if kind == "float64" else 1
            )
            ours = sort = math.inf
            for _ in range(5):
                start = time.perf_counter()
                mechanism.release(column)
                middle = time.perf_counter()
                np.sort(column)
                ours, sort = min(ours, middle - start), min(sort, time.perf_counter() - middle)
            print(f"  {kind}, epsilon {epsilon}: {ours * 1e3:.0f} ms, numpy.sort {sort * 1e3:.0f} ms")
            require(
                f"quantile of {n:,} {kind}, epsilon {epsilon}: <= 2x numpy.sort",
                f"{ours / sort:.2f}x",
                ours <= 2 * sort,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=sorted(RUNS))
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--seconds", type=float, default=20, help="the most that one contender may take for one figure")
    parser.add_argument("--records", type=int, default=10**7, help="how many records are timed; 0 for none")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of the contenders
    compare(chosen.sizes, chosen.epsilons, chosen.seconds)
    for kind, found in ratios.items():
        if found:
            mean = math.exp(sum(math.log(ratio) for ratio in found) / len(found))
            require(f"the private median: {kind} error over the best peer's, on average", f"{mean:.2f}x", mean < 1)
    if chosen.records:
        timing(chosen.records)
    print()
    for what, found, holds in checks:
        print(f"{'PASS' if holds else 'FAIL'}  {what}: {found}")
    missed = sum(not holds for _, _, holds in checks)
    print(f"\n{len(checks) - missed} requirements kept, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
