"""Rounded Gaussian: P[k] = Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma), the law of a continuous Gaussian rounded to the grid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.noise.balls import Ball, LazyUniform, ball, resolve, whole_part
from dither.noise.request import as_array, checked_size, scale_in_range
from dither.parameters import Number


def rounded_gaussian(sigma: Number, size: int | None = None) -> Any:
    """Exactly rounded Gaussian draws: an int, or an array of `size` of them."""
    exact_sigma, count = scale_in_range(sigma, "sigma"), checked_size(size)
    if count is None:
        return gaussian_by_balls(exact_sigma, LazyUniform())
    return as_array([gaussian_by_balls(exact_sigma, LazyUniform()) for _ in range(count)])


def gaussian_by_balls(sigma: Fraction, uniform: LazyUniform) -> int:
    """The draw that belongs to a uniform number U: floor(sigma Phi^-1(U) + 1/2), with Phi^-1(U) = -sqrt(2) erfcinv(2 U)."""

    def decide(u: Ball) -> int | None:
        normal = -ball(2).sqrt() * (2 * u).erfcinv()
        return whole_part(ball(sigma) * normal + ball(Fraction(1, 2)))

    return resolve(uniform, decide)
