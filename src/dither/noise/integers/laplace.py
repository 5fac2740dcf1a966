"""Discrete Laplace: P[x] = (1 - q)/(1 + q) q^|x|, q = exp(-1/scale).

The sign is fair and independent of the size, with no draw rejected: P[|X| >= k] = 2 q^k / (1 + q) for k >= 1, which is
P[scale E + c >= k] for a standard exponential E and c = -scale ln((1 + q)/2), a number between 0 and 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dither.exact.balls import Ball, ball, outward
from dither.exact.parameters import Number
from dither.exact.precision import precision
from dither.noise.integers.affine_noise import Affine
from dither.noise.integers.routes import draw_scaled
from dither.noise.integers.standard_reals import exponential
from dither.noise.request import checked_size, scale_in_range


@dataclass(frozen=True)
class LaplaceDistribution:
    """P[X > k] = q^(k + 1) / (1 + q)."""

    scale: Fraction
    symmetric: bool = True

    def tail(self, k: int) -> Ball:
        step = ball(-1) / ball(self.scale)
        return ((k + 1) * step).exp() / (1 + step.exp())


def discrete_laplace(scale: Number, size: int | None = None, *, public: bool = True) -> Any:
    """Exactly discrete Laplace draws: an int, or an array of `size` of them.

    `public=False` says that the scale depends on private data: then nothing about it is remembered.
    """
    exact_scale, count = scale_in_range(scale, "scale"), checked_size(size)
    return draw_scaled(
        count,
        lambda: laplace_affine(exact_scale),
        distribution=LaplaceDistribution(exact_scale),
        table_entries=23 * exact_scale,
        public=public,
    )


def laplace_affine(scale: Fraction) -> Affine:
    """A fair sign and floor(scale E + c)."""
    standard = exponential()

    @lru_cache(maxsize=4)
    def offset(bits: int) -> tuple[int, int]:
        with precision(bits + 32):
            return outward(laplace_shift(scale) * ball(1 << bits))

    return Affine(standard, scale * standard.step, offset, signed=True)


def laplace_shift(scale: Fraction) -> Ball:
    """c = -scale ln((1 + q)/2), written so that no digits cancel."""
    return -ball(scale) * ((-ball(1 / scale)).expm1() / 2).log1p()
