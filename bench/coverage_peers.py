"""Noise beside that of peers at the same limit, and how often peers' intervals hold the exact answer.

    python bench/coverage_peers.py [--only TABLE ...]

Everything here is computed from distributions, nothing is sampled. How much noise OpenDP, diffprivlib and PyDP add, and
which interval they state, they are asked themselves (peer_noise.py, the first table). Which rows peers keep is as
their documentation says, as in sql_accuracy.py: OpenDP and SmartNoise keep K rows of an owner, Tumult and PipelineDP
may keep g groups with k rows in each, Qrlew scales an owner's counts or sums down to a norm of C. All state intervals
of the noise alone.

The next table is for one question at epsilon = 1 with K rows of an owner: the standard deviation of dither's noise
over the least of any peer's, to first order where a value is not a sum (an average of a group of typical size). The
last one has for each peer the limit with the least root-mean-square error on this very table, which no peer is told,
and how often its 95% intervals hold the exact answer there: of all groups, and of the worst. Exits 1 if dither's noise
is larger than the best peer's.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import laplace, norm

from coverage_repetitions import BUDGETS, Template
from coverage_tables import TABLES, Subject
from coverage_visits import HIGHEST, REGIONS, VISITS
from dither.accounting.currency.currency import Currency
from dither.answer.columns import NoiseScale
from peer_noise import BY_RHO, Stated, of_peers
from sql_accuracy import CLASSIC, GAUSSIAN, LAPLACE, SOME_ROWS, Noise, dict_rank, ranks, rms

ROWS = 20  # of an owner, in the first table
SIZE, MEAN, VARIANCE, PART = 1000, 300.0, 40_000.0, 0.2  # a group: rows, mean, variance, share that a formula counts
RHO = float(Currency.of(BUDGETS["ApproxDP"]).price_of(epsilon=1).cost)
UNEQUAL = 1.001  # a rounded Gaussian has a variance of 1/12 more than a discrete one


_PEERS = (
    "OpenDP, SmartNoise, Laplace",
    "Tumult, PipelineDP, Laplace",
    "OpenDP, SmartNoise, Gaussian",
    "Tumult, PipelineDP, Gaussian",
    "Qrlew, Gaussian",
)


# -- noise at the same limit ------------------------------------------------------------------------------------------


def deviation(mechanism: str, scale: float) -> float:
    return scale * math.sqrt(2) if mechanism.startswith("Laplace") else scale


@dataclass(frozen=True)
class Kind:
    """A question without groups' numbers, and how its noise follows from that of its parts."""

    name: str
    text: str
    parts: tuple[float, ...]  # how far K rows of an owner move each part, for peers, in L1
    euclidean: tuple[float, ...]  # and in L2

    def of_peer(self, noise: Noise) -> float:
        return self.combined([noise.deviation * part for part in (self.euclidean if noise.euclidean else self.parts)])

    def combined(self, parts: Sequence[float]) -> float:
        """The deviation of the answer, to first order, from those of sums, then of the number of rows."""
        middle = HIGHEST / 2
        if self.name == "AVG":
            return math.hypot(parts[0], (MEAN - middle) * parts[1]) / SIZE
        if self.name == "VARIANCE":
            sums, squares, count = parts
            off = MEAN - middle
            return math.hypot(squares, 2 * off * sums, (VARIANCE - off**2) * count) / SIZE
        if self.name == "formula":
            return 100 * math.hypot(parts[0], PART * parts[1]) / SIZE
        if self.name == "SUM beside COUNT" and len(parts) == 2:
            return math.hypot(parts[0], middle * parts[1])
        return parts[0]


def kinds() -> list[Kind]:
    rows, half = float(ROWS), HIGHEST / 2
    by = "FROM visits GROUP BY region"
    return [
        Kind("COUNT", f"SELECT region, COUNT(*) AS n {by}", (rows,), (rows,)),
        Kind("SUM", f"SELECT region, SUM(value) AS n {by}", (rows * HIGHEST,), (rows * HIGHEST,)),
        Kind("SUM beside COUNT", f"SELECT region, SUM(value) AS n, COUNT(*) AS c {by}", *_twice(rows * HIGHEST, rows)),
        Kind("AVG", f"SELECT region, AVG(value) AS n {by}", *_twice(rows * half, rows)),
        Kind(
            "VARIANCE", f"SELECT region, VARIANCE(value) AS n {by}", *_twice(rows * half, rows * HIGHEST * half, rows)
        ),
        Kind("COUNT(DISTINCT owner)", f"SELECT region, COUNT(DISTINCT pid) AS n {by}", (REGIONS,), (REGIONS**0.5,)),
        Kind(
            "formula",
            f"SELECT region, 100.0 * COUNT(*) FILTER (WHERE value > 500) / COUNT(*) AS n {by}",
            *_twice(rows, rows),
        ),
        Kind(
            "join",
            "SELECT v.region, COUNT(*) AS n FROM visits v JOIN patients p ON v.pid = p.pid GROUP BY v.region",
            (rows,),
            (rows,),
        ),
    ]


def _twice(*parts: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Parts among which the price is split evenly, as peers do."""
    return tuple(len(parts) * part for part in parts), tuple(len(parts) ** 0.5 * part for part in parts)


def peers_noise(budget: str, asked: Sequence[Stated]) -> tuple[Noise, ...]:
    """That of peers who were asked, and what a peer could have at best."""
    if budget == "PureDP":
        return (LAPLACE, *(one for one in asked if one.name == "Laplace"))
    if budget == "basic":
        return LAPLACE, GAUSSIAN, *(one for one in asked if one.name in ("Laplace", "Gaussian"))
    return Noise("Gaussian", 1 / math.sqrt(2 * RHO), True), *(one for one in asked if one.name == BY_RHO)


def compare_noise(template: Template, asked: Sequence[Stated]) -> Iterator[tuple[str, float, float, str]]:
    """By kind: dither's deviation, the least of a peer, and with which noise."""
    for kind in kinds():
        with template.fresh(f"noise {kind.name}") as curator:
            stated: dict[str, Any] = {"delta": "1e-6"} if template.budget == "basic" else {}
            column: Any = curator.sql(kind.text, epsilon=1, rows_per_owner=ROWS, **stated).column("n")
        scales: Sequence[NoiseScale] = column.scale
        own = kind.combined([deviation(column.mechanism, part.scale) for part in scales])
        made = [(kind.of_peer(noise), noise.name) for noise in peers_noise(template.budget, asked)]
        yield kind.name, own, *min(made)


# -- peers' intervals at the limit that suits them best ---------------------------------------------------------------


@dataclass(frozen=True)
class Limited:
    """What a peer's limit leaves of each group, and the deviation of its noise."""

    peer: str
    limit: str
    off: Any
    noise: Noise
    deviation: float

    @property
    def error(self) -> float:
        return math.hypot(rms(self.off), self.deviation)

    @property
    def coverages(self) -> Any:
        """Of the 95% interval of the noise alone, group by group."""
        shape = norm if self.noise.euclidean else laplace
        scale = self.deviation if self.noise.euclidean else self.deviation / math.sqrt(2)
        width = shape.ppf(0.975) * scale
        if isinstance(self.noise, Stated) and self.noise.half_width is not None:
            width = self.noise.half_width * self.deviation / self.noise.deviation
        return shape.cdf((width - self.off) / scale) - shape.cdf((-width - self.off) / scale)


def limited(owner: Any, group: Any, value: Any, highest: float, noise: Noise, of_opendp: Noise) -> Iterator[Limited]:
    """Every peer at every limit, for a sum of `value` in each group."""
    size = int(group.max()) + 1
    exact = np.bincount(group, weights=value, minlength=size)
    rank, most = ranks(owner), int(np.bincount(owner).max())
    for rows in sorted({round(2 ** (step / 3)) for step in range(40)}):
        kept = rank < rows
        off = np.bincount(group[kept], weights=value[kept], minlength=size) - exact
        yield Limited("OpenDP, SmartNoise", f"K = {rows}", off, of_opendp, of_opendp.deviation * rows * highest)
        if rows >= most:
            break
    pair = owner * size + group
    within = ranks(pair)
    first = within == 0
    place = dict_rank(pair[first], ranks(owner[first]), pair)
    for groups in sorted({*(g for g in (1, 2, 3, 4, 6, 8, 16) if g < size), size}):
        for rows in (*SOME_ROWS, 256, 512):
            kept = (place < groups) & (within < rows)
            off = np.bincount(group[kept], weights=value[kept], minlength=size) - exact
            moved = rows * highest * (math.sqrt(groups) if noise.euclidean else groups)
            yield Limited("Tumult, PipelineDP", f"{groups} x {rows}", off, noise, noise.deviation * moved)
    if noise.euclidean:
        pairs, at = np.unique(pair, return_inverse=True)
        totals = np.bincount(at, weights=value)
        norms = np.sqrt(np.bincount(pairs // size, weights=totals**2))
        for clamp in np.geomspace(0.5, 1024, 45) * highest:
            part = np.minimum(1, clamp / np.maximum(norms, 1e-9))[pairs // size]
            off = np.bincount(pairs % size, weights=totals * part, minlength=size) - exact
            yield Limited("Qrlew", f"norm {float(f'{clamp:.3g}'):,.10g}", off, noise, CLASSIC.deviation * clamp)


def best_limits(subject: Subject, folder: Path, asked: Sequence[Stated]) -> Iterator[tuple[str, Limited]]:
    with subject.plain(folder) as plain:
        columns = [column.to_numpy(zero_copy_only=False) for column in plain.sql(subject.rows).to_arrow_table().columns]
    owner, group = (np.unique(np.asarray(column, dtype=str), return_inverse=True)[1] for column in columns[:2])
    value = np.asarray(columns[2], dtype=np.float64)
    for question, added, highest in (("COUNT", np.ones(len(value)), 1.0), ("SUM", value, float(subject.highest))):
        for noise in (LAPLACE, GAUSSIAN):
            best: dict[str, Limited] = {}
            theirs = (one for one in asked if (one.peer, one.name) == ("OpenDP", noise.name))
            for one in limited(owner, group, added, highest, noise, next(theirs, noise)):
                if one.peer not in best or one.error < best[one.peer].error:
                    best[one.peer] = one
            yield from ((question, one) for one in best.values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE")
    options = parser.parse_args(arguments)
    worse, asked = 0, list(of_peers(RHO))
    print("Noise by sensitivity at epsilon 1 (Gaussian: delta 1e-6, or the rho of ApproxDP), as peers say themselves\n")
    print("| peer | noise | deviation | stated half-width at 95% | it holds |\n|---|---|---|---|---|")
    for one in asked:
        held = "none | " if one.half_width is None else f"{one.half_width:.3f} | {one.coverage:.1%}"
        print(f"| {one.peer} | {one.name} | {one.deviation:.3f} | {held} |")
    with tempfile.TemporaryDirectory(prefix="dither-peers-") as scratch:
        subject, data = VISITS["clustered"], Path(scratch) / "clustered"
        data.mkdir()
        subject.make(data)
        print(f"\nDeviation of the noise at epsilon 1 with K = {ROWS}, over that of the best peer\n")
        print("| question | " + " | ".join(BUDGETS) + " |\n|---" + "|---" * len(BUDGETS) + "|")
        cells: dict[str, list[str]] = {}
        for budget in BUDGETS:
            folder = Path(scratch) / budget
            folder.mkdir()
            template = Template(subject, budget, data, folder)
            for kind, own, best, noise in compare_noise(template, asked):
                worse += own > UNEQUAL * best
                cells.setdefault(kind, []).append(f"{own / best:.3f} ({noise})")
            template.engine.end()
        for kind, row in cells.items():
            print(f"| {kind} | " + " | ".join(row) + " |")
        print("\nHow often 95% intervals hold the exact answer, epsilon 1 (Gaussian noise: delta 1e-6)\n")
        print("| table, question | " + " | ".join(_PEERS) + " |\n|---" + "|---" * len(_PEERS) + "|")
        for name, one in {**TABLES, **VISITS}.items():
            if name == "flights6000" or (options.only and name not in options.only):
                continue  # the same rows as flights: peers are not told what is declared
            data = Path(scratch) / f"data {name}"
            data.mkdir()
            one.make(data)
            found = {
                (question, f"{best.peer}, {best.noise.name}"): best for question, best in best_limits(one, data, asked)
            }
            for question in ("COUNT", "SUM"):
                held = [found[question, peer] for peer in _PEERS]
                shown = [f"{b.coverages.mean():.0%}, {b.coverages.min():.0%} ({b.limit})" for b in held]
                print(f"| {one.name}, {question} | " + " | ".join(shown) + " |")
    print(f"\n{'FAIL' if worse else 'PASS'}  {worse} kinds of question with more noise than the best peer")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
