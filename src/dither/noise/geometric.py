"""Geometric: P[k] = (1 - q) q^k for k >= 0, q = exp(-1/scale)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.noise.balls import Ball, LazyUniform, ball, resolve, whole_part
from dither.noise.request import as_array, checked_size, scale_in_range
from dither.parameters import Number


def geometric(scale: Number, size: int | None = None) -> Any:
    """Exactly geometric draws: an int, or an array of `size` of them."""
    exact_scale, count = scale_in_range(scale, "scale"), checked_size(size)
    if count is None:
        return geometric_by_balls(exact_scale, LazyUniform())
    return as_array([geometric_by_balls(exact_scale, LazyUniform()) for _ in range(count)])


def geometric_by_balls(scale: Fraction, uniform: LazyUniform) -> int:
    """The draw that belongs to a uniform number: floor(-scale ln U), since P[X >= k] = q^k = P[U <= q^k]."""

    def decide(u: Ball) -> int | None:
        return whole_part(-ball(scale) * u.log())

    return resolve(uniform, decide)
