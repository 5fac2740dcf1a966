"""The discrete Gaussian distribution as the table and the exact path see it: sums of weights with a proven
remainder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.exact.balls import Ball, ball, working_bits, zero_to


@dataclass(frozen=True)
class DiscreteGaussianDistribution:
    """P[X > k] = (w(k + 1) + w(k + 2) + ...) / (w(0) + 2 w(1) + 2 w(2) + ...), w(x) = exp(-x^2 / (2 variance))."""

    variance: Fraction
    symmetric: bool = True

    def tail(self, k: int) -> Ball:
        sums = _sums_above(self.variance, working_bits())
        above = sums[k] if k < len(sums) else _sum_above(self.variance, k, _terms(self.variance, working_bits()))
        return above / (1 + 2 * sums[0])


def _weight(variance: Fraction, x: int) -> Ball:
    return (ball(-x * x) / (2 * ball(variance))).exp()


def _terms(variance: Fraction, bits: int) -> int:
    """After this many terms what is left of any sum is below 2**-bits of its first term."""
    return math.isqrt(math.ceil(2 * variance * bits)) + 2


def remainder(variance: Fraction, x: int) -> Ball:
    """w(x) + w(x + 1) + ..., between 0 and a geometric series: w(x + 1) / w(x) <= exp(-x / variance)."""
    return zero_to(_weight(variance, x) / (1 - (ball(-x) / ball(variance)).exp()))


def _sum_above(variance: Fraction, k: int, terms: int) -> Ball:
    total = remainder(variance, k + 1 + terms)
    for x in range(k + terms, k, -1):
        total += _weight(variance, x)
    return total


@lru_cache(maxsize=2)
def _sums_above(variance: Fraction, bits: int) -> tuple[Ball, ...]:
    """w(k + 1) + w(k + 2) + ... for k = 0, 1, ...; summed from the far end, so that small sums keep their precision."""
    last = 2 * _terms(variance, bits)
    sums = [remainder(variance, last + 1)]
    for x in range(last, 0, -1):
        sums.append(sums[-1] + _weight(variance, x))
    # The farthest sums are mostly remainder and left out: a good sum needs enough terms above it.
    return tuple(reversed(sums))[: _terms(variance, bits)]
