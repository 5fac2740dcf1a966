"""Errors at equal guarantee, beside OpenDP, diffprivlib and PyDP where they are installed, in one run.

    python bench/accuracy.py                          # all sizes up to 10^7; exit status 1 if a requirement is missed
    python bench/accuracy.py --sizes 1000 100000      # a few minutes

A contender is compared under every neighbour relation that its guarantee covers, at the same epsilon and bounds: OpenDP
and PyDP under add_remove; OpenDP's mean and diffprivlib's count and mean, which take the size as public, under replace;
diffprivlib's quantiles, an exponential mechanism with sensitivity 1, under both.

Like is compared with like. OpenDP's quantiles choose among candidates that the caller lists; dither, diffprivlib and
PyDP need only bounds. So for quantiles there are two pairings, at equal information each, and both count:

- without a list: dither against diffprivlib and PyDP;
- with the same list: dither with candidates= against OpenDP, for each of four lists: 10,000 even steps over the
  declared bounds, 2,001 and 20,001 even candidates, and 2,001 in geometric progression.

Beside that, and not counted in the exit status, dither without a list is compared with OpenDP with each list: a list
whose candidates happen to lie about as far apart as the answer is uncertain is sharper than any choice on a fine grid,
one that does not fit is blunter, and which of them it is depends on the records (docs/evidence/benchmarks.md).

Data are drawn afresh for every repetition (at 10^7 records, a few times), the same for all contenders, and errors are
against the statistic of the same data without noise. With one fixed dataset a list of candidates that happens to
contain its quantile would win by luck, and one that happens to miss it would lose.

The rule, for each case and for both the root-mean-square and the median error: not worse than the best peer, beyond
sampling noise. "Worse beyond noise" is a larger figure and, for medians, a one-sided rank test of the errors at 10^-4;
for root mean squares, a logarithm of the ratio that is four of its standard errors above 0, these by a bootstrap over
repetitions (1,000 resamples), so that rare large errors widen it as they should. "Better for the median" is asked of
the geometric mean of the ratios over all cases under add_remove, without a list; with the same list the two laws are
equal on data without ties, so only "not worse" can be asked. A contender that has not done all repetitions when its
processor time is up is compared by those it has done; their number is shown, and below three there is no comparison.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dither import stats

Array = np.ndarray[Any, Any]
Run = Callable[[Array], float]
checks: list[tuple[str, str, bool]] = []
# Of the private median: our error over the best peer's, for each case; without a list, and with each.
ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
# Dither without a list against OpenDP with one: shown, and not counted.
unequal: list[tuple[str, str, bool]] = []
unequal_ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
# Repetitions, and how many datasets they are spread over.
RUNS = {10**3: (600, 600), 10**5: (200, 200), 10**7: (16, 4)}
LEAST_RUNS = 3
SHARES = {"median": 0.5, "quantile": 0.9}
STATISTICS = ["count", "mean", *SHARES]
LISTS = ("10001", "2001", "20001", "geometric")


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def require(what: str, found: str, holds: bool) -> None:
    checks.append((what, found, holds))


def salaries(rng: np.random.Generator, n: int) -> Array:
    """Nobody earns more than 400,000."""
    high = rng.lognormal(11.6, 0.4, n // 20)
    return np.clip(np.round(np.concatenate([rng.normal(48_000, 9_000, n - n // 20), high])), 0, 400_000)


@dataclass(frozen=True)
class Kind:
    """How data are drawn, and the bounds that are declared for them."""

    draw: Callable[[np.random.Generator, int], Array]
    upper: float
    lower: float = 0.0


KINDS = {
    "uniform": Kind(lambda rng, n: rng.uniform(0, 100, n), 100.0),
    "lognormal": Kind(lambda rng, n: rng.lognormal(3, 1, n), 1000.0),
    # Bounds ten times too wide.
    "salaries": Kind(salaries, 4_000_000.0),
    "uniform/wide": Kind(lambda rng, n: rng.uniform(0, 100, n), 1000.0),
    "lognormal/wide": Kind(lambda rng, n: rng.lognormal(3, 1, n), 10_000.0),
}


@dataclass(frozen=True)
class Sample:
    """One dataset, clamped to its bounds, and its statistics without noise."""

    x: Array

    @cached_property
    def truth(self) -> dict[str, float]:
        ranks = {name: math.ceil(q * self.x.size) - 1 for name, q in SHARES.items()}
        ordered = np.partition(self.x, sorted(ranks.values()))
        found = {name: float(ordered[rank]) for name, rank in ranks.items()}
        return found | {"count": float(self.x.size), "mean": float(self.x.mean()), "above": float(above(self.x).sum())}

    def right(self, what: str) -> float:
        return self.truth["above" if what == "count replace" else what.split()[0]]


def above(x: Array) -> Array:
    """A yes or no for each record."""
    return x > x[0]


def lists(low: float, high: float) -> dict[str, Array]:
    """Candidates that a caller may list knowing the bounds alone."""
    even = {name: np.linspace(low, high, int(name)) for name in LISTS if name.isdigit()}
    return even | {"geometric": low + np.concatenate([[0.0], np.geomspace(1e-4, 1, 2000)]) * (high - low)}


def opendp_runs(n: int, low: float, high: float, epsilon: float) -> dict[str, dict[str, Run]]:
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    counting = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1 / epsilon)
    sized = dp.vector_domain(dp.atom_domain(bounds=(low, high), nan=False), size=n), dp.symmetric_distance()
    # d_in = 2 of the symmetric distance is one replaced record.
    averaging = sized >> dp.t.then_mean() >> dp.m.then_laplace(scale=(high - low) / n / epsilon)
    plain: dict[str, Run] = {
        "count add_remove": lambda x: float(counting(x)),
        "mean replace": lambda x: float(averaging(x)),
    }
    made = {"opendp": plain}
    for name, array in lists(low, high).items():
        candidates = array.tolist()
        runs: dict[str, Run] = {}
        for statistic, q in SHARES.items():
            scored, scale = opendp_scores(space, candidates, q, epsilon)
            chosen = scored >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

            def choose(x: Array, chosen: Any = chosen, candidates: Any = candidates) -> float:
                return float(candidates[chosen(x)])

            runs[f"{statistic} add_remove"] = choose
        made[f"opendp/{name}"] = runs
    return made


def opendp_scores(space: Any, candidates: list[float], q: float, epsilon: float) -> tuple[Any, float]:
    """OpenDP's scores of the candidates, the smaller the better, and the scale of the noise that epsilon allows."""
    import opendp.prelude as dp

    scored = space >> dp.t.then_quantile_score_candidates(candidates, q)

    def suffices(scale: float) -> bool:
        return bool((scored >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)).check(1, epsilon))

    return scored, float(dp.binary_search(suffices, bounds=(1e-6, 1e6)))


def same_law(label: str, x: Array, low: float, high: float, epsilon: float) -> None:
    """With the same list both take the maximum of scores plus exponential noise: scores over scales are compared.

    Equal, so equal laws, but for a candidate that records are tied with: there ours may be nearer to the target.
    """
    import opendp.prelude as dp

    from dither.mechanisms import ListedQuantile

    dp.enable_features("contrib", "idealized-numerics")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    ordered = np.sort(x)
    for name, array in lists(low, high).items():
        below, upto = (np.searchsorted(ordered, array, side) for side in ("left", "right"))
        for statistic, q in SHARES.items():
            scored, scale = opendp_scores(space, array.tolist(), q, epsilon)
            theirs = np.array(scored(x), float) / scale
            rate = float(ListedQuantile(epsilon=str(epsilon), q=str(q), candidates=[0, 1]).rate)
            ours = rate * np.maximum(np.maximum(below - q * x.size, q * x.size - upto), 0)
            apart, tied = np.abs(ours - theirs), upto > below
            # Scores are whole multiples of at least rate / 10 here, the scale is found to a part in a million.
            slack = 1e-5 * (1 + np.abs(theirs))
            holds = bool((apart <= slack)[~tied].all() and (ours <= theirs + slack).all())
            found = f"{int((apart > slack).sum())} of {array.size} scores differ, {int(tied.sum())} candidates are tied"
            require(f"{label}: {statistic}, list {name}: the law of OpenDP's choice is ours but for ties", found, holds)


def diffprivlib_runs(n: int, low: float, high: float, epsilon: float) -> dict[str, dict[str, Run]]:
    from diffprivlib import tools

    ends = {"epsilon": epsilon, "bounds": (low, high)}
    runs: dict[str, Run] = {
        "count replace": lambda x: float(tools.count_nonzero(above(x), epsilon=epsilon)),
        "mean replace": lambda x: float(tools.mean(x, **ends)),
    }
    for statistic, q in SHARES.items():
        # One function for both relations: its errors are those of both.
        def choose(x: Array, q: float = q) -> float:
            return float(tools.quantile(x, q, **ends))

        runs[f"{statistic} add_remove"] = runs[f"{statistic} replace"] = choose
    return {"diffprivlib": runs}


def pydp_runs(n: int, low: float, high: float, epsilon: float) -> dict[str, dict[str, Run]]:
    from pydp.algorithms import laplacian

    ends = {"epsilon": epsilon, "lower_bound": low, "upper_bound": high, "dtype": "float"}
    runs: dict[str, Run] = {
        "count add_remove": lambda x: float(laplacian.Count(epsilon=epsilon, dtype="float").quick_result(x)),
        "mean add_remove": lambda x: float(laplacian.BoundedMean(**ends).quick_result(x)),
        "median add_remove": lambda x: float(laplacian.Median(**ends).quick_result(x)),
        "quantile add_remove": lambda x: float(laplacian.Percentile(percentile=0.9, **ends).quick_result(x)),
    }
    return {"pydp": runs}


PEERS = {"opendp": opendp_runs, "diffprivlib": diffprivlib_runs, "pydp": pydp_runs}


def our_runs(n: int, low: float, high: float, epsilon: float) -> dict[str, dict[str, Run]]:
    ends: dict[str, Any] = {"lower": low, "upper": high, "epsilon": epsilon}
    runs: dict[str, Run] = {
        "count add_remove": lambda x: float(stats.count(x, epsilon=epsilon)),
        "count replace": lambda x: float(stats.count(above(x), epsilon=epsilon, relation="replace")),
    }
    for relation in ("add_remove", "replace"):
        more = ends | {"relation": relation}
        runs[f"mean {relation}"] = lambda x, more=more: float(stats.mean(x, **more))
        runs[f"median {relation}"] = lambda x, more=more: float(stats.median(x, **more))
        runs[f"quantile {relation}"] = lambda x, more=more: float(stats.quantile(x, "0.9", **more))
    made = {"dither": runs}
    for name, candidates in lists(low, high).items():
        given: dict[str, Any] = {"candidates": candidates, "epsilon": epsilon}
        made[f"dither/{name}"] = {
            "median add_remove": lambda x, given=given: float(stats.median(x, **given)),
            "quantile add_remove": lambda x, given=given: float(stats.quantile(x, "0.9", **given)),
        }
    return made


def errors(run: Run, what: str, samples: list[Sample], runs: int, seconds: float) -> Array:
    """Absolute errors of up to so many runs, over the datasets in turn, stopping after some seconds of computing."""
    found, start = [], time.process_time()
    while len(found) < runs and (not found or time.process_time() - start < seconds):
        sample = samples[len(found) % len(samples)]
        try:
            found.append(abs(run(sample.x) - sample.right(what)))
        except Exception:  # noqa: BLE001 - a contender that fails on these data has no figure
            return np.array([])
    return np.array(found)


def compare(
    sizes: list[int],
    kinds: list[str],
    statistics: list[str],
    epsilons: list[float],
    seconds: float,
    left_out: tuple[str, ...],
) -> None:
    peers = {name: make for name, make in PEERS.items() if installed(name) and name not in left_out}
    print(f"contenders: dither, {', '.join(peers) or 'no peer is installed'}")
    print("n, data, epsilon, statistic and relation: root-mean-square / median error of each\n")
    for n in sizes:
        runs, drawn = RUNS.get(n, (100, 100))
        for data in kinds:
            kind = KINDS[data]
            rng = np.random.default_rng([n, list(KINDS).index(data)])
            samples = [Sample(np.clip(kind.draw(rng, n), kind.lower, kind.upper)) for _ in range(drawn)]
            for epsilon in epsilons:
                made: dict[str, dict[str, Run]] = {}
                for make in (our_runs, *peers.values()):
                    made |= make(n, kind.lower, kind.upper, epsilon)
                if "opendp" in peers and set(statistics) & set(SHARES):
                    same_law(f"n={n:.0e} {data} eps={epsilon:g}", samples[0].x, kind.lower, kind.upper, epsilon)
                known: dict[Run, Array] = {}
                for what in made["dither"]:
                    if what.split()[0] not in statistics:
                        continue
                    found = {}
                    for name, contender in made.items():
                        if what not in contender or name in left_out:
                            continue
                        run = contender[what]
                        if run not in known:
                            known[run] = errors(run, what, samples, runs, seconds)
                        found[name] = known[run]
                    report(f"n={n:.0e} {data} eps={epsilon:g} {what}", found, runs)


def report(label: str, found: dict[str, Array], runs: int) -> None:
    figures = {name: (rms(e), float(np.median(e)), e.size) for name, e in found.items() if e.size >= LEAST_RUNS}
    shown = "  ".join(
        f"{name} {square:.4g}/{middle:.4g}" + (f" ({size} runs)" if size < runs else "")
        for name, (square, middle, size) in figures.items()
    )
    failed = ", ".join(name for name, e in found.items() if not e.size)
    slow = ", ".join(name for name, e in found.items() if 0 < e.size < LEAST_RUNS)
    notes = (f"  (no answer: {failed})" if failed else "") + (f"  (too slow to compare: {slow})" if slow else "")
    print(f"{label}: {shown}{notes}", flush=True)
    for kind, place in (("RMS", 0), ("median", 1)):
        errors_of = {name: figure[place] for name, figure in figures.items()}
        plain = [name for name in figures if name != "dither" and "/" not in name]
        if plain and "dither" in figures:
            best = min(plain, key=errors_of.__getitem__)
            decide(label, kind, "dither", best, found, errors_of, ratios["", kind])
        for name in LISTS:
            ours, theirs = f"dither/{name}", f"opendp/{name}"
            if ours in figures and theirs in figures:
                decide(label, kind, ours, theirs, found, errors_of, ratios[name, kind])
            if "dither" in figures and theirs in figures:
                pair, holds = compared("dither", theirs, kind, found, errors_of)
                unequal.append((f"{label}: {kind} error, {theirs} had a list", pair, holds))
                keep_ratio(label, errors_of["dither"], errors_of[theirs], unequal_ratios[name, kind])


def decide(
    label: str, kind: str, ours: str, theirs: str, found: dict[str, Array], figure: dict[str, float], kept: list[float]
) -> None:
    """A requirement: our error is not worse than theirs."""
    pair, holds = compared(ours, theirs, kind, found, figure)
    require(f"{label}: {kind} error of {ours} not worse than {theirs}", pair, holds)
    if not holds:
        print(f"    {ours} worse than {theirs} by the {kind} error", flush=True)
    keep_ratio(label, figure[ours], figure[theirs], kept)


def compared(ours: str, theirs: str, kind: str, found: dict[str, Array], figure: dict[str, float]) -> tuple[str, bool]:
    holds = figure[ours] <= figure[theirs] or not surely_worse(found[ours], found[theirs], kind)
    return f"{figure[ours]:.4g} vs {figure[theirs]:.4g}", holds


def keep_ratio(label: str, ours: float, theirs: float, kept: list[float]) -> None:
    if "median add_remove" in label and ours and theirs:
        kept.append(ours / theirs)


def rms(e: Array, axis: int | None = None) -> Any:
    return np.sqrt((e**2).mean(axis))


def surely_worse(ours: Array, theirs: Array, kind: str) -> bool:
    """Beyond noise: by a rank test of the errors, or by four bootstrapped standard errors of a log ratio."""
    if kind == "median":
        from scipy.stats import mannwhitneyu

        return bool(mannwhitneyu(ours, theirs, alternative="greater").pvalue < 1e-4)
    if not rms(theirs):
        return bool(rms(ours))
    rng = np.random.default_rng(5)
    variance = 0.0
    for e in (ours, theirs):
        resampled = rms(e[rng.integers(0, e.size, (1000, e.size))], 1)
        variance += float(np.log(np.maximum(resampled, 1e-12 * rms(e))).var())
    return bool(math.log(rms(ours) / rms(theirs)) > 4 * math.sqrt(variance))


def geometric_mean(found: list[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in found) / len(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=sorted(RUNS))
    parser.add_argument("--data", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--statistics", nargs="+", choices=STATISTICS, default=STATISTICS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--seconds", type=float, default=20, help="the most that one contender may take for one figure")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--lists", nargs="*", choices=LISTS, default=list(LISTS), help="lists of candidates")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of the contenders
    absent = tuple(f"{who}/{name}" for who in ("dither", "opendp") for name in set(LISTS) - set(chosen.lists))
    unasked = tuple(set(PEERS) - set(chosen.peers))
    if "opendp" in unasked or not installed("opendp"):
        absent = tuple(f"dither/{name}" for name in LISTS)
    compare(chosen.sizes, chosen.data, chosen.statistics, chosen.epsilons, chosen.seconds, absent + unasked)
    for kind in ("RMS", "median"):
        if ratios["", kind]:
            mean = geometric_mean(ratios["", kind])
            require(f"the private median: {kind} error over the best peer's, on average", f"{mean:.2f}x", mean < 1)
    print()
    for what, shown, holds in checks:
        print(f"{'PASS' if holds else 'FAIL'}  {what}: {shown}")
    print("\nthe private median, errors of dither over those of OpenDP on average (RMS, median error):")
    for name in chosen.lists:
        for who, kept in ((f"dither with the list {name}", ratios), ("dither without it", unequal_ratios)):
            if kept[name, "RMS"]:
                means = ", ".join(f"{geometric_mean(kept[name, kind]):.2f}x" for kind in ("RMS", "median"))
                print(f"      {who}: {means}")
    worse = [(what, shown) for what, shown, holds in unequal if not holds]
    kept_too = len(unequal) - len(worse)
    print(f"\nnot counted, dither without a list against OpenDP with one: {kept_too} of {len(unequal)} kept")
    for what, shown in worse:
        print(f"      worse  {what}: {shown}")
    missed = sum(not holds for _, _, holds in checks)
    print(f"\n{len(checks) - missed} requirements kept, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
