"""What a list of even candidates gains and costs: errors without a list over those with one, from the laws.

    python bench/quantile_lists.py                    # a minute; needs no peer

The median under add_remove, without sampling but that of the datasets (24 for each figure). The list has 10,000 even
steps over the declared bounds, which needs no knowledge of the records; dither with `candidates=` and OpenDP choose
from it by the same law (bench/accuracy.py compares their scores). Above 1 the list is sharper, below it is blunter.
Exits 1 if it is sharper anywhere by more than 1.2: no list gains more, not even one whose steps fit.
"""

from __future__ import annotations

import sys

import numpy as np

from accuracy import KINDS
from exact_errors import exponential_pieces, flip_pieces, on_grid, pooled, truth_of

DATASETS = 24
SIZES = (300, 1000, 3000, 10_000, 100_000)
STEPS = 10_000
MOST = 1.20


def ratios(data: str, epsilon: float, n: int, seed: int = 3) -> tuple[float, float]:
    """RMS and median error without a list over those with it."""
    kind, rng = KINDS[data], np.random.default_rng([seed, n])
    free = on_grid(0.5, epsilon, kind.lower, kind.upper, "add_remove", None)
    candidates = np.linspace(kind.lower, kind.upper, STEPS + 1)
    without, listed = [], []
    for _ in range(DATASETS):
        x = np.clip(kind.draw(rng, n), kind.lower, kind.upper)
        truth = truth_of(x, 0.5)
        without.append(exponential_pieces(x, free, truth))
        listed.append(flip_pieces(x, candidates, 0.5, float(free.rate), truth))
    ours, theirs = pooled(without), pooled(listed)
    return ours.rms / theirs.rms, ours.median / theirs.median


def main() -> int:
    missed = 0
    print("the median: error without a list over that with 10,000 even steps (RMS/median)\n")
    print("| data, epsilon | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for data in KINDS:
        for epsilon in (0.1, 1.0):
            found = [ratios(data, epsilon, n) for n in SIZES]
            missed += sum(square > MOST for square, _ in found)
            cells = " | ".join(f"{square:.2f}/{middle:.2f}" for square, middle in found)
            print(f"| {data}, {epsilon:g} | {cells} |", flush=True)
    print(f"\n{missed} RMS errors more than {MOST:.2f} times those with the list")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
