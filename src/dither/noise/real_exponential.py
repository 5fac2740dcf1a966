"""Exponential noise on the real line, density e^-z for z >= 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.noise.balls import Ball, ball
from dither.noise.reals import Real, Source


@dataclass(frozen=True)
class RealExponential:
    """P[eta > z] = e^-z; -ln U."""

    def draw(self, source: Source) -> Real:
        return Real((source.uniform(),), lambda u: -u.log())

    def above(self, z: Fraction) -> Ball:
        return (-ball(max(z, Fraction(0)))).exp()
