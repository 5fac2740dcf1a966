"""Laplace-log-normal noise: a Laplace number times the exponential of a normal one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.exact.balls import Ball, ball, working_bits, zero_to
from dither.noise.reals.gaussian import standard_normal
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution


@dataclass(frozen=True)
class LaplaceLogNormal(SymmetricDistribution):
    """eta = X e^(sigma Y), X standard Laplace, Y standard normal (Bun and Steinke 2019)."""

    sigma: Fraction

    def draw(self, source: Source) -> Real:
        sign = source.sign()
        uniforms = (source.uniform(), source.uniform(), source.uniform())

        def number(size: Ball, radius: Ball, angle: Ball) -> Ball:
            return -sign * size.log() * (ball(self.sigma) * standard_normal(radius, angle)).exp()

        return Real(uniforms, number)

    def tail(self, z: Fraction) -> Ball:
        """E exp(-z e^(-sigma Y)) / 2: a rigorous integral over |Y| <= w; the rest is below P[|Y| > w] / 2."""
        from flint import acb

        at, spread = ball(z), ball(self.sigma)
        # P[|Y| > w] < e^(-w^2/2): as small as the working precision asks for.
        widest = math.isqrt(2 * working_bits()) + 1

        def weighted(y: Any, _: bool) -> Any:
            return (-y * y / 2 - at * (-spread * y).exp()).exp()

        whole = acb.integral(weighted, -widest, widest).real / (2 * ball(1).pi()).sqrt()
        rest = (ball(widest) / ball(2).sqrt()).erfc()
        return (whole + zero_to(rest)) / 2
