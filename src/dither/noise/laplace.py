"""Discrete Laplace: P[x] = (1 - q)/(1 + q) q^|x|, q = exp(-1/scale)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.noise.balls import Ball, LazyUniform, ball, resolve, whole_part
from dither.noise.request import as_array, checked_size, scale_in_range
from dither.parameters import Number


def discrete_laplace(scale: Number, size: int | None = None) -> Any:
    """Exactly discrete Laplace draws: an int, or an array of `size` of them."""
    exact_scale, count = scale_in_range(scale, "scale"), checked_size(size)
    if count is None:
        return laplace_by_balls(exact_scale, LazyUniform())
    return as_array([laplace_by_balls(exact_scale, LazyUniform()) for _ in range(count)])


def laplace_by_balls(scale: Fraction, uniform: LazyUniform) -> int:
    """The draw that belongs to a uniform number U: its first bit is the sign, the rest, V, gives |X| = floor(-scale ln(V (1 + q)/2)).

    P[|X| >= k] = 2 q^k/(1 + q) for k >= 1, and the law is symmetric, so sign and size are independent.
    """

    def decide(u: Ball) -> int | None:
        sign = whole_part(2 * u)
        if sign is None:
            return None
        q = (-1 / ball(scale)).exp()
        size = whole_part(-ball(scale) * ((2 * u - sign) * (1 + q) / 2).log())
        return None if size is None else (-size if sign else size)

    return resolve(uniform, decide)
