"""Student's t noise, for any degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution


@dataclass(frozen=True)
class StudentT(SymmetricDistribution):
    """Density proportional to (1 + z^2/d)^(-(d+1)/2).

    A point of the plane with the two-dimensional t distribution has P[distance > r] = (1 + r^2/d)^(-d/2), so its
    distance is sqrt(d (U^(-2/d) - 1)), its direction is uniform, and each coordinate is Student's t (Bailey 1994).
    """

    degrees: Fraction

    def draw(self, source: Source) -> Real:
        d = self.degrees

        def coordinate(radius: Ball, angle: Ball) -> Ball:
            growth = (ball(-2 / d) * radius.log()).expm1()
            return (ball(d) * growth).sqrt() * (2 * angle).cos_pi()

        return Real((source.uniform(), source.uniform()), coordinate)

    def tail(self, z: Fraction) -> Ball:
        d = self.degrees
        near = ball(d / (d + z * z))
        return near.beta_lower(ball(d / 2), ball(Fraction(1, 2)), regularized=1) / 2
