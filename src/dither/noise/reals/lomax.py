"""Two-sided Lomax noise: a power distribution that starts at 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution


@dataclass(frozen=True)
class Lomax(SymmetricDistribution):
    """Density (a-1)/2 (1 + |z|)^-a, a > 1; a fair sign and U^(-1/(a-1)) - 1."""

    shape: Fraction

    def draw(self, source: Source) -> Real:
        sign = source.sign()
        return Real((source.uniform(),), lambda u: sign * (u.log() / ball(1 - self.shape)).expm1())

    def tail(self, z: Fraction) -> Ball:
        return (ball(1 + z) ** ball(1 - self.shape)) / 2
