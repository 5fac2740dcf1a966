"""What the weights of answers by magnitude gain and cost: errors of a quantile's law beside those of even weights.

    python bench/quantile_weights.py                  # seconds; exit status 1 if a requirement is missed

Exact errors of the laws (no sampling but that of the datasets, 40 of them for each figure), 1,000 records, epsilon 0.1,
add_remove. Every cell is the root-mean-square and the median error as multiples of those with even weights. Required:
in no cell of the table more than 1.05; what the weights cost elsewhere is printed below it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exact_errors import Array, Pieces, exponential_pieces, on_grid, pooled, truth_of

DATASETS = 40
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
EPSILON = 0.1
MOST = 1.05


def salaries(rng: np.random.Generator, n: int) -> Array:
    high = rng.lognormal(11.6, 0.4, n // 20)
    return np.clip(np.round(np.concatenate([rng.normal(48_000, 9_000, n - n // 20), high])), 0, 400_000)


@dataclass(frozen=True)
class Kind:
    name: str
    draw: Callable[[np.random.Generator, int], Array]
    lower: float
    upper: float
    grid: float | None = None


KINDS = (
    Kind("uniform on [0, 100], the same", lambda rng, n: rng.uniform(0, 100, n), 0, 100),
    Kind("uniform on [0, 100], [0, 1000]", lambda rng, n: rng.uniform(0, 100, n), 0, 1000),
    Kind("lognormal(3, 1), [0, 1000]", lambda rng, n: rng.lognormal(3, 1, n), 0, 1000),
    Kind("salaries, [0, 4,000,000]", salaries, 0, 4_000_000),
    Kind("normal(0, 10), [-1000, 1000]", lambda rng, n: rng.normal(0, 10, n), -1000, 1000),
    Kind("normal(1980, 15) as years, [1900, 2100]", lambda rng, n: np.rint(rng.normal(1980, 15, n)), 1900, 2100, 1),
    Kind("ages, even from 18 to 95, [0, 120]", lambda rng, n: rng.integers(18, 96, n).astype(float), 0, 120, 1),
)


def laws(kind: Kind, n: int, q: float, *, even: bool, seed: int = 11) -> tuple[Pieces, float]:
    """The pooled errors, and the probability of an answer above all records."""
    rng = np.random.default_rng(seed)
    mechanism = on_grid(q, EPSILON, kind.lower, kind.upper, "add_remove", kind.grid)
    found, beyond = [], []
    for _ in range(DATASETS):
        x = np.clip(kind.draw(rng, n), kind.lower, kind.upper)
        truth = truth_of(x, q)
        pieces = exponential_pieces(x, mechanism, truth, even=even)
        found.append(pieces)
        beyond.append(float(pieces.mass[pieces.low + truth > x.max()].sum()))
    return pooled(found), float(np.mean(beyond))


def main() -> int:
    missed = 0
    print(f"errors with weights by magnitude over those with even weights (RMS/median), n = 1,000, epsilon {EPSILON}\n")
    print("| data, bounds | " + " | ".join(f"q = {q:g}" for q in SHARES) + " |")
    print("|---|" + "---|" * len(SHARES))
    for kind in KINDS:
        cells = []
        for q in SHARES:
            weighed, even = (laws(kind, 1000, q, even=flat)[0] for flat in (False, True))
            ratios = [
                ours / theirs if theirs else 1.0 if not ours else float("inf")
                for ours, theirs in ((weighed.rms, even.rms), (weighed.median, even.median))
            ]
            missed += sum(not ratio <= MOST for ratio in ratios)
            cells.append("/".join(f"{ratio:.2f}" for ratio in ratios))
        print(f"| {kind.name} | " + " | ".join(cells) + " |", flush=True)
    chosen = [laws(KINDS[3], 1000, 0.9, even=flat)[1] for flat in (True, False)]
    print(
        f"\n0.9 quantile of 1,000 salaries: above all records with probability {chosen[0]:.2f} by even weights,", end=""
    )
    print(f" {chosen[1]:.3f} by these")
    near = Kind("", lambda rng, n: rng.normal(85, 3, n), 0, 100)
    for n in (1000, 300, 100):
        weighed, even = (laws(near, n, 0.5, even=flat)[0] for flat in (False, True))
        print(
            f"median of {n} records, normal(85, 3), on [0, 100]: RMS {weighed.rms:.3g} instead of {even.rms:.3g},"
            f" median error {weighed.median:.3g} instead of {even.median:.3g}"
        )
    print(f"\n{len(KINDS) * len(SHARES) * 2 - missed} ratios at most {MOST}, {missed} above")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
