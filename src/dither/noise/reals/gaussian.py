"""Standard Gaussian noise on the real line. (`integers.gaussian` is the same noise for public scales.)"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution


def standard_normal(radius: Ball, angle: Ball) -> Ball:
    """sqrt(-2 ln U) cos(2 pi V): one coordinate of a point whose squared distance from 0 is twice an exponential."""
    return (-2 * radius.log()).sqrt() * (2 * angle).cos_pi()


@dataclass(frozen=True)
class RealGaussian(SymmetricDistribution):
    """P[eta > z] = erfc(z / sqrt 2) / 2 (Box and Muller 1958)."""

    def draw(self, source: Source) -> Real:
        return Real((source.uniform(), source.uniform()), standard_normal)

    def tail(self, z: Fraction) -> Ball:
        return (ball(z) / ball(2).sqrt()).erfc() / 2
