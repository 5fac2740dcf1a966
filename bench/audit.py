"""The auditor's own time: ten million samples a side of a scalar mechanism, beside sorting the same samples.

Run: python bench/audit.py [samples a side]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dither as dt
from dither.noise import discrete_laplace

DRAWN = np.random.default_rng()
Noise = Callable[[int], Any]
CASES: dict[str, tuple[Noise, Any]] = {
    "discrete Laplace": (lambda size: discrete_laplace(1, size), dt.PureDP(1)),
    "Laplace in floats": (lambda size: DRAWN.laplace(size=size), dt.PureDP(1)),
    "Gaussian in floats": (lambda size: DRAWN.normal(size=size), dt.GDP(1)),
}


class Prepared:
    """Outputs drawn beforehand, so that only the analysis is timed; each part is handed out once."""

    def __init__(self, noise: Noise, samples: int) -> None:
        self.noise, self.half = noise, samples // 2
        self.parts = {side: [noise(self.half) + side for _ in range(2)] for side in (0, 1)}

    def __call__(self, side: int, size: int) -> Any:
        return self.parts[side].pop() if size == self.half else self.noise(size) + side


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    start, busy = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - busy


def main(samples: int = 10**7) -> None:
    print(f"{'output':20}{'samples':>12}{'analysis':>10}{'of the CPU':>12}{'sorting':>9}{'ratio':>7}  verdict")
    for name, (noise, claim) in CASES.items():
        ready = Prepared(noise, samples)
        whole = [np.concatenate(parts) for parts in ready.parts.values()]
        _, sorting, _ = timed(lambda whole=whole: [np.sort(side) for side in whole])
        verdict, analysis, busy = timed(
            lambda ready=ready, claim=claim: dt.audit.check(ready, neighbours=[(0, 1)], claimed=claim, samples=samples)
        )
        figures = f"{samples:>12,}{analysis:>9.1f}s{busy:>11.1f}s{sorting:>8.1f}s{analysis / sorting:>7.2f}"
        print(f"{name:20}{figures}  {'passed' if verdict else 'FAILED'}, epsilon >= {verdict.lower_bound:.4g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
