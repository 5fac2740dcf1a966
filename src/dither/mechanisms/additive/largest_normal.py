"""The expectation of the largest of many normal variables, by absolute value: as they are, and rounded."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dither.exact.balls import Ball, ball, bounds

_NEGLIGIBLE = 80  # e^-80 is beyond all that is shown


def largest_rounded(sigma: Fraction, count: int) -> Fraction:
    """E max |round(Z_i)| for Z_i ~ N(0, sigma^2), rounded up: a sum over whole numbers, and a bound of its tail."""
    last = 1
    while not _beyond(sigma, count, last):
        last *= 2

    def certified() -> Ball:
        spread = ball(sigma) * ball(2).sqrt()
        total = sum((_exceeds((ball(w) + ball(Fraction(1, 2))) / spread, count) for w in range(last)), ball(0))
        return total + _rest(ball(last) / ball(sigma), count) * ball(sigma)

    return bounds(certified, bits=40)[1]


@lru_cache(64)
def largest_normal(count: int) -> Fraction:
    """E max |Z_i| for standard normal Z_i, above it by less than 3 in a thousand: the integral of a falling tail."""
    if count == 1:
        return bounds(lambda: (ball(2) / ball(1).pi()).sqrt())[1]
    end = 1
    while not _beyond(Fraction(1), count, end):
        end += 1
    parts = 256 * end

    def certified() -> Ball:
        values = (_exceeds(ball(Fraction(k * end, parts)) / ball(2).sqrt(), count) for k in range(parts))
        return sum(values, ball(0)) * ball(Fraction(end, parts)) + _rest(ball(end), count)

    return bounds(certified, bits=40)[1]


def _beyond(sigma: Fraction, count: int, steps: int) -> bool:
    return (steps / sigma) ** 2 / 2 >= _NEGLIGIBLE + count.bit_length()


def _exceeds(x: Ball, count: int) -> Ball:
    """1 - (1 - erfc(x))^count, also where erfc(x) is next to nothing."""
    tail = x.erfc()
    return -(count * (-tail).log1p()).expm1() if tail < 1 else ball(1)


def _rest(x: Ball, count: int) -> Ball:
    """At least the integral from x >= 1 on of P(max |Z_i| > t), which is at most count e^(-x^2/2)."""
    return count * (-x * x / 2).exp()
