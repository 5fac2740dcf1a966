"""Geometric: P[k] = (1 - q) q^k for k >= 0, q = exp(-1/scale)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.noise.affine import Affine, rational_offset
from dither.noise.balls import Ball, LazyUniform, ball, fresh_uniform, resolve, whole_part
from dither.noise.geometric_law import GeometricLaw
from dither.noise.request import checked_size, scale_in_range
from dither.noise.scaled import draw_scaled
from dither.noise.standard import exponential
from dither.parameters import Number


def geometric(scale: Number, size: int | None = None, *, public: bool = True) -> Any:
    """Exactly geometric draws: an int, or an array of `size` of them.

    `public=False` says that the scale depends on private data: then nothing about it is remembered.
    """
    exact_scale, count = scale_in_range(scale, "scale"), checked_size(size)
    if count is None:
        return geometric_by_balls(exact_scale, fresh_uniform())
    return draw_scaled(
        count,
        one=lambda: geometric_by_balls(exact_scale, fresh_uniform()),
        law=GeometricLaw(exact_scale),
        table_entries=23 * exact_scale,
        affine=lambda: geometric_affine(exact_scale),
        public=public,
    )


def geometric_affine(scale: Fraction) -> Affine:
    """floor(scale E), E standard exponential: P[scale E >= k] = q^k."""
    standard = exponential()
    return Affine(standard, scale * standard.step, rational_offset(Fraction(0)), signed=False)


def geometric_by_balls(scale: Fraction, uniform: LazyUniform) -> int:
    """floor(-scale ln U): the draw that belongs to a uniform number U."""

    def decide(u: Ball) -> int | None:
        return whole_part(-ball(scale) * u.log())

    return resolve(uniform, decide)
