"""Noise that aggregators add to their shares of a sum, so that no one of them, and nobody else, sees the sum itself.

`each`: every aggregator adds discrete Laplace noise that is enough alone; one honest aggregator suffices. `split`: the
aggregators add parts of one such noise, enough together if at least `honest` of them add theirs. A discrete Laplace
number is the difference of two geometric ones, and a geometric number the sum of t negative binomials of shape 1/t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.errors import ParameterError
from dither.noise import discrete_laplace, geometric, uniform_below

_FINEST = 1024  # steps of a scale in which the distribution of a sum is computed
_OUTWARD = 1e-9  # relative; more than the error of the sums of floats below


@dataclass(frozen=True)
class NoiseShare:
    """What each of `aggregators` adds, of which at least `honest` do; `split` if their noise counts together."""

    aggregators: int = 2
    honest: int = 1
    split: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= self.aggregators:
            raise ParameterError("honest is how many aggregators surely add noise, 1 to all of them.")

    def draw(self, scale: Fraction, size: int) -> list[int]:
        """One aggregator's noise for each of `size` sums."""
        if not self.split:
            return [int(number) for number in discrete_laplace(scale, size)]
        ups, downs = (negative_binomial(self.honest, scale, size) for _ in range(2))
        return [up - down for up, down in zip(ups, downs, strict=True)]

    @property
    def shape(self) -> Fraction:
        """The noise of all aggregators together is the difference of two negative binomials of this shape."""
        return Fraction(self.aggregators, self.honest if self.split else 1)

    def reach(self, scale: Fraction, confidence: Fraction) -> int:
        """r with P(|noise of all aggregators| > r) <= 1 - confidence."""
        return reach(scale, self.shape, 1 - confidence)

    def bound(self, scale: Fraction, missed: Fraction) -> int:
        """As `reach`, and larger, but known at once: |X - Y| is at most the larger of the two, which is at most the sum
        of as many geometric numbers as the shape, rounded up."""
        count = math.ceil(self.shape)
        return count * math.ceil(scale * math.ceil(math.log(2 * count / missed) + 1))


def negative_binomial(parts: int, scale: Fraction, size: int) -> list[int]:
    """Exact draws of shape 1/parts: P[k] is C(k + 1/parts - 1, k) q^k (1 - q)^(1/parts), q = exp(-1/scale).

    A geometric number k is kept with probability prod over i <= k of (i - 1 + 1/parts) / i, which is rational.
    """
    kept: list[int] = []
    while len(kept) < size:
        numbers = np.asarray(geometric(scale, max(64, 2 * (size - len(kept)))))
        alive, factor = np.ones(numbers.size, bool), 1
        while (tossed := np.flatnonzero(alive & (numbers >= factor))).size:
            alive[tossed] = uniform_below(parts * factor, tossed.size) < parts * (factor - 1) + 1
            factor += 1
        kept += numbers[alive].tolist()
    return kept[:size]


@lru_cache(maxsize=1024)
def reach(scale: Fraction, shape: Fraction, missed: Fraction) -> int:
    """r with P(|X - Y| > r) <= missed, X and Y negative binomial of that shape with q = exp(-1/scale).

    A large scale is measured in steps: a geometric number differs by less than a step from one of the coarser scale,
    and a whole shape is that many of them. Another shape is rounded up there, to noise that is less peaked.
    """
    step = max(1, math.ceil(scale / _FINEST))
    if step > 1:
        shape = Fraction(math.ceil(shape))
    coarse = float(scale / step)
    from scipy.stats import nbinom

    stop = -math.expm1(-1 / coarse)  # 1 - q
    allowed = float(missed) * (1 - _OUTWARD)
    most = int(nbinom.isf(allowed * 1e-6, float(shape), stop)) + 1
    numbers = np.arange(most + 1)
    chances = nbinom.pmf(numbers, float(shape), stop)

    def beyond(distance: int) -> float:
        """P(|X - Y| > distance), by symmetry twice P(X > Y + distance); Y above `most` counts as beyond."""
        inside = float(chances @ nbinom.sf(numbers + distance, float(shape), stop))
        return 2 * (inside + allowed * 1e-6)

    low, high = -1, 1
    while beyond(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) <= allowed else (middle, high)
    return high if step == 1 else (high + int(shape)) * step
