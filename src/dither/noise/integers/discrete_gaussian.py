"""Discrete Gaussian: P[x] proportional to exp(-x^2 / (2 sigma_squared)) on the integers.

Small sigma: a table. Else rejection from the rounded Gaussian, which hardly ever rejects: see `acceptance`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import Ball, ball
from dither.exact.parameters import Number, sqrt_up
from dither.noise.entropy import keystream
from dither.noise.integers.bernoulli import is_below
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution
from dither.noise.integers.gaussian import rounded_gaussian
from dither.noise.integers.table import build_table, draw_from_table
from dither.noise.integers.tables import kept_table
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.request import checked_size, replaced, variance_in_range

_LARGEST_TABLE_VARIANCE = 32**2


def discrete_gaussian(sigma_squared: Number, size: int | None = None, *, public: bool = True) -> Any:
    """Exactly discrete Gaussian draws: an int, or an array of `size` of them.

    `public=False` says that the variance depends on private data: then nothing about it is remembered.
    """
    variance, count = variance_in_range(sigma_squared, "sigma_squared"), checked_size(size)
    if variance <= _LARGEST_TABLE_VARIANCE:
        distribution = DiscreteGaussianDistribution(variance)
        table = kept_table(distribution) if public else build_table(distribution)
        return table.one() if count is None else draw_from_table(table, count)
    draws = many_by_rejection(variance, 1 if count is None else count, public)
    return int(draws[0]) if count is None else draws


def proposal_sigma(variance: Fraction) -> Fraction:
    """A rational number just above sigma (sigma itself if that is a short rational)."""
    return sqrt_up(variance)


def acceptance(variance: Fraction, k: int) -> Ball:
    """The chance to accept k from a rounded Gaussian of s = proposal_sigma: r(k)/r(0), r(x) = target(x)/proposed(x).

    proposed(k) is exp(-k^2/(2 s^2)) times the integral of cosh(k y/s^2) exp(-y^2/(2 s^2)) over |y| <= 1/2, which is
    least at k = 0. With t = 1/variance - 1/s^2 >= 0, r(k)/r(0) is exp(-k^2 t/2) times a ratio of two such integrals:
    at most 1 and, since cosh is largest at the ends, at least 1/cosh(k/(2 s^2)).
    """
    s = ball(proposal_sigma(variance))
    unit = ball(8).sqrt() * s
    # Both masses times 2; the tails keep their relative precision.
    at_zero = (1 / unit).erf() * 2
    at_k = (ball(2 * abs(k) - 1) / unit).erfc() - (ball(2 * abs(k) + 1) / unit).erfc() if k else at_zero
    return (ball(-k * k) / (2 * ball(variance))).exp() * at_zero / at_k


def surely_accepted(variance: Fraction, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """A lower bound for `acceptance`: 1/cosh(x) >= 1 - x^2/2 and exp(-x) >= 1 - x, with room for float error."""
    s = proposal_sigma(variance)
    per_square = 1 / (8 * s**4) + (1 / variance - 1 / s**2) / 2
    return 1 - (float(per_square) * 1.001 * k * k + 2.0**-40)


def accepts(variance: Fraction, k: int, uniform: LazyUniform) -> bool:
    """Whether the uniform number lies below `acceptance`."""
    return is_below(uniform, lambda: acceptance(variance, k))


def many_by_rejection(variance: Fraction, count: int, public: bool) -> NDArray[Any]:
    """`count` draws: proposals, and new ones for those that are not accepted."""
    sigma = proposal_sigma(variance)
    out: NDArray[Any] = rounded_gaussian(sigma, count, public=public)
    fill = keystream(4 * count)
    pending = np.arange(count)
    while pending.size:
        words = np.empty(pending.size, np.uint32)
        fill(words)
        sure = (words + 1.0) * 2.0**-32 <= surely_accepted(variance, out[pending].astype(np.float64))
        rejected = [
            pending[i]
            for i in np.flatnonzero(~sure)
            if not accepts(variance, int(out[pending[i]]), LazyUniform(int(words[i]), 32))
        ]
        pending = np.array(rejected, np.intp)
        out = replaced(out, pending, rounded_gaussian(sigma, pending.size, public=False))
    return out
