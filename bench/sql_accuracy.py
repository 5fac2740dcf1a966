"""Errors of SQL answers at equal guarantee, on a table whose owners have very different numbers of rows.

    python bench/sql_accuracy.py [--rows 1000000] [--runs 50] [--folder FOLDER] [--only WORD ...]

`--only` takes parts of the names of guarantees ("pure", "epsilons", "rhos") and of queries ("zipcode"); what it does
not name is left out.

The guarantee is for all rows of one owner: epsilon = 1, and epsilon = 1 with delta = 1e-6. dither has that as its whole
budget: a profile for the default share of 2%, then one question for all the rest, delta included where deltas add up,
with nothing chosen by anybody: whether Gaussian noise is worth the delta is dither's own choice. Its intervals hold the
exact answer, so that it reads all rows that are declared unless the profile certifies that few are lost. And it is told
the number of rows that is best for a peer on this very table (`rows_per_owner=`), for the whole price and no profile.
Every run has a profile and questions of its own; errors are root mean squares over runs (and groups), against plain
answers.

A budget with delta is compared like with like in both its compositions. Where epsilons and deltas add up, peers have
the better of Laplace noise at epsilon and Gaussian noise at (epsilon, delta). The default, in which rho adds up, is for
many questions: it costs a single one up to three times the error of the other, so peers count in the same rho there,
as OpenDP and Tumult can; all are given it.

Peers are told the best limit for this very table, found afterwards: rows of an owner for those that drop rows, groups
and rows in each for Tumult and PipelineDP, the clamp on owners' totals for PipelineDP and Qrlew. Their errors follow
from what their documentation says they do, computed here: what the limit loses on this table, with rows drawn at random
where they draw them, and the variance of the noise at the whole epsilon. None pays for finding its limit. Where OpenDP
is installed its noise is also drawn by itself, at that limit; its own data frames need a Polars of another version.

| peer | how rows are limited | noise | average |
|---|---|---|---|
| OpenDP, SmartNoise | K rows of an owner | Laplace K/epsilon, or Gaussian | sum over count, half of epsilon each |
| Tumult, PipelineDP | the same, or g groups with k rows in each | Laplace gk, or Gaussian sqrt(g)k | from the middle |
| PipelineDP | a sum: owners' totals clamped | Laplace, or Gaussian | |
| Qrlew | an owner's totals scaled down to a norm of C | Gaussian by the classic formula | |

Gaussian noise is for the guarantees with delta only, calibrated exactly but for Qrlew. Exits 1 if dither is worse, at
the same number of rows, than the best peer that limits rows so, by more than three standard errors. How it fares as
asked, beside the best of all peers at limits that nobody tells them, is printed: it is what intervals that hold cost.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUERIES = {
    "count": "SELECT COUNT(*) FROM visits",
    "sum": "SELECT SUM(amount) FROM visits",
    "avg": "SELECT AVG(age) FROM visits",
    "region": "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY region",
    "zipcode": "SELECT zipcode, COUNT(*) FROM visits GROUP BY zipcode ORDER BY zipcode",
    "users": "SELECT COUNT(DISTINCT user_id) FROM visits",
}
GROUPS = {"region": 50, "zipcode": 10_000}
LOW_AGE, HIGH_AGE, HIGHEST_AMOUNT = 18, 95, 100
EPSILON, DELTA = 1.0, 1e-6
SHARE = 0.02  # the default of Curator.profile
ROWS = sorted({round(2 ** (step / 4)) for step in range(40)})
SOME_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)


def make_visits(rows: int) -> pa.Table:
    """Synthetic visits: 10 rows of an owner on average, from none to hundreds."""
    drawn = np.random.default_rng(20240 + rows)
    people = rows // 10
    activity = drawn.lognormal(0.0, 1.0, people)
    user = np.searchsorted(np.cumsum(activity) / activity.sum(), drawn.random(rows)).astype(np.int64)
    age = np.clip(drawn.normal(45, 17, people).round(), LOW_AGE, HIGH_AGE).astype(np.int64)
    home = np.minimum(drawn.geometric(0.07, people) - 1, 49)
    region = np.where(drawn.random(rows) < 0.9, home[user], drawn.integers(0, 50, rows))
    zipcode = region * 200 + np.minimum(drawn.geometric(0.02, rows) - 1, 199)
    product = np.minimum((1_000_000 ** drawn.random(rows)).astype(np.int64) - 1, 999_999)
    amount = drawn.lognormal(3.0, 1.0, rows)
    names = np.array([f"r{number:02d}" for number in range(50)])
    columns = {"user_id": user, "region": pa.array(names[region]), "zipcode": zipcode.astype(np.int64)}
    return pa.table({**columns, "product": product, "amount": amount, "age": age[user]})


# -- peers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A root-mean-square error, by whom and at which limit."""

    error: float
    who: str
    limit: str


def exact_gaussian() -> float:
    """The smallest deviation of Gaussian noise on sensitivity 1 that is (EPSILON, DELTA)-DP."""

    def delta(sigma: float) -> float:
        a, b = 1 / (2 * sigma), EPSILON * sigma
        return tail(b - a) - math.exp(EPSILON) * tail(b + a)

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    low, high = 0.1, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= DELTA else (middle, high)
    return high


@dataclass(frozen=True)
class Noise:
    """The deviation of noise on a number that one owner moves by 1 in L1 and L2, and whose it is."""

    name: str
    deviation: float
    euclidean: bool


LAPLACE = Noise("Laplace", math.sqrt(2) / EPSILON, False)
GAUSSIAN = Noise("Gaussian", exact_gaussian(), True)
CLASSIC = Noise("Gaussian", math.sqrt(2 * math.log(1.25 / DELTA)) / EPSILON, True)


@dataclass(frozen=True)
class Peers:
    """What each documented way of limiting owners makes of one table."""

    visits: pa.Table

    @cached_property
    def user(self) -> Ints:
        return np.asarray(self.visits["user_id"].to_numpy())

    @cached_property
    def amount(self) -> Floats:
        return np.clip(self.visits["amount"].to_numpy(), 0, HIGHEST_AMOUNT)

    @cached_property
    def age(self) -> Ints:
        return np.asarray(self.visits["age"].to_numpy())

    @cached_property
    def rank(self) -> Ints:
        """Of each row among its owner's, in an order drawn at random."""
        return ranks(self.user)

    def groups(self, query: str) -> Ints:
        if query == "zipcode":
            return np.asarray(self.visits["zipcode"].to_numpy())
        return np.char.lstrip(np.asarray(self.visits["region"].to_numpy(zero_copy_only=False), dtype="U3"), "r").astype(
            np.int64
        )

    @cached_property
    def truth(self) -> dict[str, Any]:
        counted = {name: np.bincount(self.groups(name), minlength=size) for name, size in GROUPS.items()}
        total, mean = float(self.amount.sum()), float(self.age.mean())
        return {"count": len(self.user), "sum": total, "avg": mean, "users": len(np.unique(self.user)), **counted}

    @cached_property
    def _best(self) -> dict[tuple[str, tuple[Noise, ...]], Figure]:
        return {}

    def best(self, query: str, noises: tuple[Noise, ...]) -> Figure:
        """The best peer at its best limit."""
        if (query, noises) not in self._best:
            self._best[query, noises] = min(self.figures(query, noises), key=lambda figure: figure.error)
        return self._best[query, noises]

    def figures(self, query: str, noises: Sequence[Noise]) -> Iterator[Figure]:
        """Every peer at every limit."""
        for noise in noises:
            if query == "users":
                yield Figure(noise.deviation, f"all, {noise.name}", "K = 1")
                continue
            for rows in ROWS:
                kept = self.rank < rows
                yield from self._rows_dropped(query, rows, kept, noise)
            if query in GROUPS:
                yield from self._groups_and_rows(query, noise)
            if query == "sum":
                yield from self._totals_clamped(noise)
        if query in ("count", "sum", *GROUPS) and GAUSSIAN in noises:
            yield from self._scaled_to_norm(query)

    def _rows_dropped(self, query: str, rows: int, kept: Any, noise: Noise) -> Iterator[Figure]:
        limit, everybody = f"K = {rows}", "OpenDP, SmartNoise, Tumult, PipelineDP"
        spread = noise.deviation * rows
        if query == "count":
            yield Figure(
                math.hypot(float(kept.sum()) - self.truth["count"], spread), f"{everybody}, {noise.name}", limit
            )
        elif query == "sum":
            lost = float(self.amount[kept].sum()) - self.truth["sum"]
            yield Figure(math.hypot(lost, HIGHEST_AMOUNT * spread), f"{everybody}, {noise.name}", limit)
        elif query == "avg":
            yield from self._average(rows, kept, noise)
        else:
            off = np.bincount(self.groups(query)[kept], minlength=GROUPS[query]) - self.truth[query]
            yield Figure(math.hypot(rms(off), spread), f"{everybody}, {noise.name}", limit)

    def _average(self, rows: int, kept: Any, noise: Noise) -> Iterator[Figure]:
        """A noisy sum over a noisy count, each for half the price, to first order."""
        many, mean = float(kept.sum()), float(self.age[kept].mean())
        each = noise.deviation * rows * (math.sqrt(2) if noise.euclidean else 2)
        middle = (LOW_AGE + HIGH_AGE) / 2
        for who, reach, centre in (
            ("OpenDP, SmartNoise", HIGH_AGE, 0.0),
            ("Tumult, PipelineDP", (HIGH_AGE - LOW_AGE) / 2, middle),
        ):
            noisy = each * math.hypot(reach, mean - centre) / many
            yield Figure(math.hypot(mean - self.truth["avg"], noisy), f"{who}, {noise.name}", f"K = {rows}")

    def _groups_and_rows(self, query: str, noise: Noise) -> Iterator[Figure]:
        groups = self.groups(query)
        pair = self.user * GROUPS[query] + groups
        within = ranks(pair)
        first = within == 0
        place_of_pair = dict_rank(pair[first], ranks(self.user[first]), pair)
        for most in (*SOME_ROWS[:8], GROUPS[query]):
            for rows in SOME_ROWS:
                kept = (place_of_pair < most) & (within < rows)
                off = np.bincount(groups[kept], minlength=GROUPS[query]) - self.truth[query]
                moved = rows * (math.sqrt(most) if noise.euclidean else most)
                yield Figure(
                    math.hypot(rms(off), noise.deviation * moved),
                    f"Tumult, PipelineDP, {noise.name}",
                    f"{most} x {rows}",
                )

    def _totals_clamped(self, noise: Noise) -> Iterator[Figure]:
        totals = np.bincount(self.user, weights=self.amount)
        for clamp in np.geomspace(10, 20_000, 60):
            lost = float(np.maximum(totals - clamp, 0).sum())
            yield Figure(
                math.hypot(lost, noise.deviation * clamp), f"PipelineDP, {noise.name}", f"totals to {clamp:.0f}"
            )

    def _scaled_to_norm(self, query: str) -> Iterator[Figure]:
        value = self.amount if query == "sum" else np.ones(len(self.user))
        size = GROUPS.get(query, 1)
        groups = self.groups(query) if query in GROUPS else np.zeros(len(self.user), dtype=np.int64)
        pairs, place = np.unique(self.user * size + groups, return_inverse=True)
        totals = np.bincount(place, weights=value)
        norms = np.sqrt(np.bincount(pairs // size, weights=totals**2))
        for clamp in np.geomspace(0.5, 512, 81) * (HIGHEST_AMOUNT / 4 if query == "sum" else 1):
            part = np.minimum(1, clamp / np.maximum(norms, 1e-9))[pairs // size]
            kept = np.bincount(pairs % size, weights=totals * part, minlength=size)
            off = kept - self.truth[query]
            yield Figure(math.hypot(rms(off), CLASSIC.deviation * clamp), "Qrlew", f"norm {clamp:.3g}")


def ranks(owner: Ints) -> Ints:
    """The place of each row among those of the same owner, in an order drawn at random."""
    order = np.random.default_rng(7).permutation(len(owner))
    order = order[np.argsort(owner[order], kind="stable")]
    held = owner[order]
    starts = np.flatnonzero(np.r_[True, held[1:] != held[:-1]])
    place = np.arange(len(held)) - np.repeat(starts, np.diff(np.r_[starts, len(held)]))
    found = np.empty(len(held), dtype=np.int64)
    found[order] = place
    return found


def dict_rank(keys: Ints, values: Ints, wanted: Ints) -> Ints:
    """`values` by `keys`, looked up for `wanted`."""
    order = np.argsort(keys)
    return values[order][np.searchsorted(keys[order], wanted)]


def rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(values, dtype=np.float64)))))


def opendp_live(peers: Peers, query: str, rows: int, runs: int) -> float | None:
    """OpenDP's own pure noise on what is left of this table at its best limit."""
    if importlib.util.find_spec("opendp") is None or query == "avg":
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    kept = peers.rank < rows
    if query == "sum":
        metric, domain = dp.absolute_distance(T=float), dp.atom_domain(T=float, nan=False)
        noise, exact = (
            dp.m.make_laplace(domain, metric, rows * HIGHEST_AMOUNT / EPSILON),
            float(peers.amount[kept].sum()),
        )
    elif query in GROUPS:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        counted = np.bincount(peers.groups(query)[kept], minlength=GROUPS[query])
        noise, exact = dp.m.make_laplace(*space, rows / EPSILON), counted.tolist()
    else:
        noise = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), rows / EPSILON)
        exact = int(kept.sum())
    return rms([rms(np.asarray(noise(exact)) - peers.truth[query]) for _ in range(runs)])


# -- dither -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guarantee:
    """A budget to compare at, one of its kind that lasts for all runs, and how a price is stated."""

    name: str
    whole: Any
    lasting: Any
    stated: str
    noises: tuple[Noise, ...]
    delta: str | None = None


def guarantees() -> list[Guarantee]:
    import dither as dt
    from dither.accounting.currency.currency import Currency

    default = dt.ApproxDP(1, "1e-6"), dt.ApproxDP(2000, "1e-6")
    basic = dt.ApproxDP(1, "1e-6", composition="basic"), dt.ApproxDP(9000, "0.01", composition="basic")
    by_rho = Noise("Gaussian", 1 / math.sqrt(2 * float(Currency.of(default[0]).cap_cost)), True)
    return [
        Guarantee("PureDP(1)", dt.PureDP(1), dt.PureDP(9000), "epsilon", (LAPLACE,)),
        Guarantee("ApproxDP(1, 1e-6), epsilons add up", *basic, "epsilon", (LAPLACE, GAUSSIAN), "1e-6"),
        Guarantee("ApproxDP(1, 1e-6), rhos add up", *default, "rho", (by_rho,)),
    ]


def register(folder: Path, kept: Path, guarantee: Guarantee) -> None:
    import dither as dt

    with dt.Curator.open(kept) as curator:
        curator.people("people", budget=guarantee.lasting, oversubscribe=True)
        curator.register(
            "visits",
            folder / "visits.parquet",
            people="people",
            owner="user_id",
            max_rows_per_owner=1000,
            columns={
                "region": dt.Category([f"r{k:02d}" for k in range(50)], nullable=False, default="r00"),
                "zipcode": dt.Int(0, 9999, nullable=False, default=0),
                "product": dt.Int(0, 999_999, nullable=False, default=0),
                "amount": dt.Fixed(0, HIGHEST_AMOUNT, decimals=2, nullable=False, default=0),
                "age": dt.Int(LOW_AGE, HIGH_AGE, nullable=False, default=45),
            },
        )


@dataclass(frozen=True)
class Measured:
    """The error of every run, and how rows were limited in the last."""

    errors: Floats
    limit: str

    @property
    def error(self) -> float:
        return rms(self.errors)

    @property
    def uncertainty(self) -> float:
        """The standard error of the logarithm of `error`, to first order."""
        squares = self.errors**2
        return float(squares.std(ddof=1) / squares.mean() / math.sqrt(len(squares)) / 2)


def measure(
    curator: Any, guarantee: Guarantee, truth: dict[str, Any], runs: int, told: dict[str, int]
) -> tuple[dict[str, Measured], dict[str, Measured]]:
    """Each run: a profile, then every question, as if it were the only one, for the rest of the whole budget; and the
    same question for the whole budget with the number of rows that it is told."""
    from dither.accounting.currency.currency import Currency

    cap, lasting = (Currency.of(budget).cap_cost for budget in (guarantee.whole, guarantee.lasting))
    off: dict[str, list[float]] = {name: [] for name in told}
    limited: dict[str, list[float]] = {name: [] for name in told}
    limits = dict.fromkeys(told, "")
    for run in range(runs):
        # A little dearer each time, or it would be the same profile.
        share = SHARE * (1 + run * 1e-9) * float(cap / lasting)
        curator.profile("visits", share=f"{share:.24f}")
        analyst = curator.analyst(f"bench{secrets.token_hex(8)}", budget=guarantee.lasting)
        delta = {} if guarantee.delta is None else {"delta": guarantee.delta}
        price = {guarantee.stated: f"{float(cap) * (1 - SHARE) * (1 - 1e-6):.15f}", **delta}
        whole = {guarantee.stated: f"{float(cap) * (1 - 1e-6):.15f}", **delta}
        for name, rows in told.items():
            text = QUERIES[name]
            for found, stated in ((off, price), (limited, {**whole, "rows_per_owner": rows})):
                noisy = analyst.sql(text, **stated).to_arrow().columns[-1].to_pylist()
                found[name].append(rms(np.array(noisy, dtype=np.float64) - truth[name]))
            if run == runs - 1:
                limits[name] = limit_of(analyst.explain(text, **price).to_dict())
    asked = {name: Measured(np.array(off[name]), limits[name]) for name in told}
    return asked, {name: Measured(np.array(limited[name]), f"K = {rows}") for name, rows in told.items()}


def limit_of(told: dict[str, Any]) -> str:
    """How an explained question limits owners, and its noise where that was a choice."""
    limit = f"K = {told['rows_per_owner']}"
    if "slower plan" in told["strategy"]:
        limit = "owners clamped"
    return limit + (", Gaussian" if "delta" in told["price"] else "")


# -- both -------------------------------------------------------------------------------------------------------------


def compare(folder: Path, scratch: Path, runs: int, only: Sequence[str]) -> bool:
    import dither as dt

    peers = Peers(pq.read_table(folder / "visits.parquet"))
    missed = 0
    queries = [name for name in QUERIES if name in only] or list(QUERIES)
    words = [word.lower() for word in only if word not in QUERIES]
    compared = [one for one in guarantees() if not words or any(word in one.name.lower() for word in words)]
    if not compared:
        raise SystemExit(f"no guarantee is called {' or '.join(words)}")
    for place, guarantee in enumerate(compared):
        kept = scratch / f"clinic{place}"
        register(folder, kept, guarantee)
        alike = {name: by_rows(peers, name, guarantee.noises) for name in queries}
        with dt.Curator.open(kept) as curator:
            told = {name: int(figure.limit.split()[-1]) for name, figure in alike.items()}
            asked, limited = measure(curator, guarantee, peers.truth, runs, told)
        print(f"{guarantee.name}: root-mean-square errors over {runs} runs")
        for name, figure in alike.items():
            ratio = limited[name].error / figure.error
            held = ratio <= math.exp(3 * limited[name].uncertainty)
            missed += not held
            print(f"{'PASS' if held else 'FAIL'}  {name:8} {_beside(limited[name], figure)}")
            print(f"      as asked {_beside(asked[name], peers.best(name, guarantee.noises))}")
            if guarantee.noises == (LAPLACE,):
                _tell_opendp(peers, name, runs)
    print(f"{'FAIL' if missed else 'PASS'}  {missed} of {len(queries) * len(compared)} worse than the best peer")
    return not missed


def by_rows(peers: Peers, name: str, noises: tuple[Noise, ...]) -> Figure:
    """The best peer that keeps so many rows of an owner, whatever their groups."""
    found = [figure for figure in peers.figures(name, noises) if figure.limit.startswith("K = ")]
    return min(found, key=lambda figure: figure.error)


def _beside(measured: Measured, figure: Figure) -> str:
    return (
        f"dither {measured.error:10.4g} [{measured.limit}]   best peer {figure.error:10.4g} [{figure.who}; "
        f"{figure.limit}]   {measured.error / figure.error:5.2f}x (log +- {measured.uncertainty:.2f})"
    )


def _tell_opendp(peers: Peers, name: str, runs: int) -> None:
    own = [figure for figure in peers.figures(name, (LAPLACE,)) if figure.who.startswith(("OpenDP", "all"))]
    best = min(own, key=lambda figure: figure.error)
    live = opendp_live(peers, name, int(best.limit.split()[-1]), runs)
    if live is not None:
        print(f"      {name:8} OpenDP's own noise at {best.limit}: {live:.4g}, computed {best.error:.4g}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="guarantees and queries to compare")
    parser.add_argument("--folder", type=Path, help="where the table is made; kept and used again if it is there")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dither-accuracy-") as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "visits.parquet").exists():
            pq.write_table(make_visits(options.rows), folder / "visits.parquet", row_group_size=1 << 20)
        return 0 if compare(folder, Path(scratch), options.runs, options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
