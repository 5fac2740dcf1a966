"""Geometric: P[k] = (1 - q) q^k for k >= 0, q = exp(-1/scale)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.exact.parameters import Number
from dither.noise.integers.affine_noise import Affine, rational_offset
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.routes import draw_scaled
from dither.noise.integers.standard_reals import exponential
from dither.noise.request import checked_size, scale_in_range


def geometric(scale: Number, size: int | None = None, *, public: bool = True) -> Any:
    """Exactly geometric draws: an int, or an array of `size` of them.

    `public=False` says that the scale depends on private data: then nothing about it is remembered.
    """
    exact_scale, count = scale_in_range(scale, "scale"), checked_size(size)
    return draw_scaled(
        count,
        lambda: geometric_affine(exact_scale),
        distribution=GeometricDistribution(exact_scale),
        table_entries=23 * exact_scale,
        public=public,
    )


def geometric_affine(scale: Fraction) -> Affine:
    """floor(scale E), E standard exponential: P[scale E >= k] = q^k."""
    standard = exponential()
    return Affine(standard, scale * standard.step, rational_offset(Fraction(0)), signed=False)
