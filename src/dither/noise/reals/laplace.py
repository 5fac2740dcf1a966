"""Laplace noise on the real line, density e^-|z| / 2. (`integers.laplace` is the discrete distribution.)"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution


@dataclass(frozen=True)
class RealLaplace(SymmetricDistribution):
    """P[eta > z] = e^-z / 2; a fair sign and -ln U."""

    def draw(self, source: Source) -> Real:
        sign = source.sign()
        return Real((source.uniform(),), lambda u: -sign * u.log())

    def tail(self, z: Fraction) -> Ball:
        return (-ball(z)).exp() / 2
