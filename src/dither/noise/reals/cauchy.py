"""Cauchy noise, and its relatives with density proportional to 1/(1 + |z|^gamma)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.noise.reals.rounded_reals import Real, Source, SymmetricDistribution, is_true


@dataclass(frozen=True)
class Cauchy(SymmetricDistribution):
    """Density 1/(pi (1 + z^2)); a fair sign and tan(pi U / 2)."""

    def draw(self, source: Source) -> Real:
        sign = source.sign()
        return Real((source.uniform(),), lambda u: sign * (u / 2).tan_pi())

    def tail(self, z: Fraction) -> Ball:
        return (1 / ball(z)).atan() / ball(1).pi() if z else ball(Fraction(1, 2))


@dataclass(frozen=True)
class GeneralisedCauchy(SymmetricDistribution):
    """Density proportional to 1/(1 + |z|^gamma), gamma > 1.

    The density lies below 1 on [0, 1] and below z^-gamma beyond. A number from this envelope (U, or U^(-1/(gamma - 1)),
    in the proportion 1 to 1/(gamma - 1)) is kept with probability density over envelope, which is always above 1/2.
    """

    gamma: Fraction

    def draw(self, source: Source) -> Real:
        sign = source.sign()
        while True:
            inside = is_true((source.uniform(),), lambda w: _less(w, ball(1 - 1 / self.gamma)))
            # With z = U^power, density over envelope is 1/(1 + z^gamma) inside and 1/(1 + z^-gamma) beyond.
            power = Fraction(1) if inside else -1 / (self.gamma - 1)
            shrink = abs(power) * self.gamma
            u, coin = source.uniform(), source.uniform()
            if is_true((u, coin), lambda u, coin, shrink=shrink: _less(coin * (1 + _to(u, shrink)), ball(1))):
                return Real((u,), lambda u, power=power: sign * _to(u, power))

    def tail(self, z: Fraction) -> Ball:
        near = 1 / (1 + _to(ball(z), self.gamma)) if z else ball(1)
        return near.beta_lower(ball(1 - 1 / self.gamma), ball(1 / self.gamma), regularized=1) / 2


def _less(a: Ball, b: Ball) -> bool | None:
    return True if a < b else False if a >= b else None


def _to(base: Ball, power: Fraction) -> Ball:
    return base ** ball(power)
