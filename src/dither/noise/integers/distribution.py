"""A distribution on the integers, given by its upper tail, and the exact draw that belongs to a uniform number."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from dither.exact.balls import Ball
from dither.exact.precision import precision
from dither.noise.lazy_uniform import LazyUniform


class Distribution(Hashable, Protocol):
    """A symmetric distribution lives on all integers, any other on 0, 1, 2, ..."""

    @property
    def symmetric(self) -> bool:
        """Whether P[X = -k] = P[X = k]; if not, X >= 0."""
        ...

    def tail(self, k: int) -> Ball:
        """P[X > k] for k >= 0, as a ball at the working precision."""
        ...


def locate(distribution: Distribution, uniform: LazyUniform) -> int:
    """The k with P[X < k] <= U < P[X <= k], learning bits of U (one at least is known) until it is certain."""
    complement = (1 << uniform.bits) - 1 - uniform.prefix
    if distribution.symmetric and uniform.prefix >> (uniform.bits - 1) == 0:
        # U < 1/2: P[X < -k] = P[X > k], so U itself says how far below zero.
        return -_locate_from_above(distribution, uniform)
    return _locate_from_above(distribution, LazyUniform(complement, uniform.bits, uniform.learn))


def _locate_from_above(distribution: Distribution, distance: LazyUniform) -> int:
    """The k >= 0 with P[X > k] <= V < P[X > k - 1], V the distance of U from 1: gallop past it, then halve the gap."""
    low, high = -1, 0
    while _is_below_tail(distribution, distance, high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _is_below_tail(distribution, distance, middle):
            low = middle
        else:
            high = middle
    return high


def _is_below_tail(distribution: Distribution, distance: LazyUniform, k: int) -> bool:
    while True:
        with precision(distance.bits + 64):
            v, tail = distance.ball(), distribution.tail(k)
            if v < tail:
                return True
            if v >= tail:
                return False
        distance.refine()
