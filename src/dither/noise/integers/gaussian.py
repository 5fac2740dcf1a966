"""Rounded Gaussian: P[k] = Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma), a continuous Gaussian rounded to the grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.exact.balls import Ball, ball
from dither.exact.parameters import Number
from dither.noise.integers.affine_noise import Affine, rational_offset
from dither.noise.integers.routes import draw_scaled
from dither.noise.integers.standard_reals import half_normal
from dither.noise.request import checked_size, scale_in_range

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class RoundedGaussianDistribution:
    """P[X > k] = erfc((k + 1/2) / (sigma sqrt 2)) / 2."""

    sigma: Fraction
    symmetric: bool = True

    def tail(self, k: int) -> Ball:
        return (ball(2 * k + 1) / (ball(8).sqrt() * ball(self.sigma))).erfc() / 2


def rounded_gaussian(sigma: Number, size: int | None = None, *, public: bool = True) -> Any:
    """Exactly rounded Gaussian draws: an int, or an array of `size` of them.

    `public=False` says that sigma depends on private data: then nothing about it is remembered.
    """
    exact_sigma, count = scale_in_range(sigma, "sigma"), checked_size(size)
    return draw_scaled(
        count,
        lambda: gaussian_affine(exact_sigma),
        distribution=RoundedGaussianDistribution(exact_sigma),
        table_entries=7 * exact_sigma,
        public=public,
    )


def gaussian_affine(sigma: Fraction) -> Affine:
    """A fair sign and floor(sigma |N| + 1/2), N standard normal."""
    standard = half_normal()
    return Affine(standard, sigma * standard.step, rational_offset(_HALF), signed=True)
