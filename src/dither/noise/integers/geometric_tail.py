"""The geometric distribution as the table and the exact path see it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball


@dataclass(frozen=True)
class GeometricDistribution:
    """P[X > k] = q^(k + 1), q = exp(-1/scale)."""

    scale: Fraction
    symmetric: bool = False

    def tail(self, k: int) -> Ball:
        return (ball(-k - 1) / ball(self.scale)).exp()
