"""Gumbel noise: the largest of many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.noise.balls import Ball, ball
from dither.noise.reals import Real, Source


@dataclass(frozen=True)
class Gumbel:
    """P[eta <= z] = exp(-e^-z); -ln(-ln U)."""

    def draw(self, source: Source) -> Real:
        return Real((source.uniform(),), lambda u: -((-u.log()).log()))

    def above(self, z: Fraction) -> Ball:
        return -(-((-ball(z)).exp())).expm1()
