"""Statistics whose reach is a gap between ranks: order statistics and trimmed means.

Between the ranks low <= high the statistic keeps what it averages (one rank for an order statistic). With
u_p = x_(high+p) and v_q = x_(low-q), padded by the bounds, k changes and then one more reach

    A^(k) = scale * max over p + q = k + 1 of (u_p - v_q),

so everything below needs only the ranks within k + 1 of the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.sensitivity.columns.records import Records
from dither.sensitivity.smoothing import FLOOR_BITS, SLACK, Step, certify, farthest

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Gaps:
    """A^(k) of a statistic that averages the ranks low..high with weight `scale` each."""

    records: Records
    low: int
    high: int
    scale: Fraction

    @property
    def ceiling(self) -> Fraction:
        """The global sensitivity."""
        return self.scale * self.records.width

    def reach(self, k: int) -> Fraction:
        """A^(k): the largest local sensitivity within k replaced records."""
        k = min(k, self.records.size)
        rises, falls = self._sides(k + 1)
        return self.scale * max(rise - fall for rise, fall in zip(rises, reversed(falls), strict=True))

    def distance(self, bound: Fraction, most: int) -> int | float:
        """The smallest k with A^(k) > bound, at most `most`; infinite if there is none."""
        if not bound < self.ceiling:
            return math.inf
        wanted, most = bound / self.scale, min(most, self.records.size)
        look = min(most, 64)
        while True:
            found = self._first_gap(wanted, look)
            if found <= look or look == most:
                return min(found, most)
            look = min(most, 4 * look)

    def _first_gap(self, wanted: Fraction, look: int) -> int:
        """The smallest k <= look with u_p - v_q > wanted for some p + q = k + 1; otherwise something larger."""
        above, below = self._sides(look + 1)
        denominator = math.lcm(*{value.denominator for value in (*above, *below, wanted)})
        rises, falls = _over(above, denominator), _over(below, denominator)
        enough, best, p = int(wanted * denominator), look + 1, look + 2
        # The lower v_q is, the lower is the first u_p that is far enough: p only falls as q rises.
        for q, fall in enumerate(falls):
            while p > 0 and rises[p - 1] - fall > enough:
                p -= 1
            if p < len(rises):
                best = min(best, max(p + q - 1, 0))
        return best

    def smooth(self, beta: Fraction) -> Fraction:
        """The beta-smooth bound of `smoothing`, from the ranks that can matter."""
        last = farthest(beta, self.records.size)
        look = min(last, math.ceil(24 / beta) + 8)
        while True:
            sides = _Scaled.of(self, look)
            best, near = sides.near_best(float(beta))
            # Not read: k > look, worth at most e^(-beta (look + 1)) of the ceiling.
            if look == last or math.exp(-float(beta) * (look + 1)) < best * (1 - SLACK):
                break
            look = min(last, 2 * look)
        return certify([(k, self.scale * reached) for k, reached in near], beta, self.ceiling)

    def _sides(self, steps: int) -> tuple[list[Fraction], list[Fraction]]:
        """u_0..u_steps and v_0..v_steps."""
        below = self.records.ranks(self.low - steps, self.low)[::-1]
        return self.records.ranks(self.high, self.high + steps), below


@dataclass(frozen=True)
class _Scaled:
    """u and v as exact integers over one denominator, and as floats in units of the range's width."""

    rises: list[int]
    falls: list[int]
    base: int
    denominator: int
    rise: Floats
    fall: Floats
    start: float

    @classmethod
    def of(cls, gaps: Gaps, look: int) -> _Scaled:
        above, below = gaps._sides(look + 1)
        denominator = math.lcm(*{value.denominator for value in (*above, *below, gaps.records.width)})
        tops, bottoms = _over(above, denominator), _over(below, denominator)
        width = int(gaps.records.width * denominator)
        rises, falls, base = (
            [top - tops[0] for top in tops],
            [bottoms[0] - low for low in bottoms],
            tops[0] - bottoms[0],
        )
        # Python divides integers with one rounding, so each float is right to 2^-53 of itself.
        rise, fall = (np.array([step / width for step in side]) for side in (rises, falls))
        return cls(rises, falls, base, denominator, rise, fall, base / width)

    def near_best(self, rate: float) -> tuple[float, list[Step]]:
        """The best A^(k) e^(-rate k) in units of the width, and every k that may attain it with its exact A^(k)."""
        k = np.arange(len(self.rise) - 1)
        weight = np.exp(-rate * k)
        # u_p <= u_(k+1) and v_q <= v_(k+1): a bound that tells which k are worth a look.
        bound = (self.start + self.rise[1:] + self.fall[1:]) * weight
        best, looked = 2.0**-FLOOR_BITS, []
        for step in np.argsort(-bound, kind="stable").tolist():
            if bound[step] < best * (1 - SLACK):
                break
            reached = self.start + float(np.max(self.rise[: step + 2] + self.fall[step + 1 :: -1]))
            value = reached * float(weight[step])
            looked.append((value, step))
            best = max(best, value)
        return best, [(step, self._exact(step)) for value, step in looked if value >= best * (1 - SLACK)]

    def _exact(self, k: int) -> Fraction:
        around = self.rise[: k + 2] + self.fall[k + 1 :: -1]
        near = np.flatnonzero(around >= around.max() * (1 - SLACK)).tolist()
        return Fraction(self.base + max(self.rises[p] + self.falls[k + 1 - p] for p in near), self.denominator)


def _over(values: list[Fraction], denominator: int) -> list[int]:
    return [value.numerator * (denominator // value.denominator) for value in values]
