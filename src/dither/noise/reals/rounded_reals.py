"""Continuous noise on a grid: floor(centre + scale eta + 1/2) for a real random number eta, exactly.

eta is a function of a few uniform numbers, of which only some bits are known. A ball holds every value that eta can
still take; once all of them round to the same whole number the draw is done, otherwise more bits are drawn. Nothing
depends on the scale but the last multiplication: there is no table and no cache, so the scale may be private.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import NDArray

from dither.exact.balls import Ball, ball, whole_part
from dither.exact.parameters import whole
from dither.exact.precision import precision
from dither.noise.entropy import Learn, learn_bits, random_bits
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.request import as_array

# Bits of every uniform number known from the start: so many that a second look is needed about never.
KNOWN_BITS = 192
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Source:
    """Where a draw gets its bits: numbers known to `bits` bits at first, and further bits by `learn`."""

    bits: int = KNOWN_BITS
    learn: Learn = learn_bits
    random: Callable[[int], int] = random_bits

    def uniform(self) -> LazyUniform:
        """A new uniform number in [0, 1)."""
        return LazyUniform(self.random(self.bits), self.bits, self.learn)

    def sign(self) -> int:
        """+1 or -1, a fair coin."""
        return 1 - 2 * (self.learn()[1] & 1)


_KERNEL = Source()


@dataclass(frozen=True)
class Real:
    """A random real number: a function of uniform numbers, continuous wherever it gives a finite ball."""

    uniforms: tuple[LazyUniform, ...]
    evaluate: Callable[..., Ball]

    def settle(self, decide: Callable[[Ball], int | None]) -> int:
        """What `decide` says about the number, learning bits until it says something."""
        while True:
            with precision(max(uniform.bits for uniform in self.uniforms) + 64):
                found = decide(self.evaluate(*map(enclosure, self.uniforms)))
            if found is not None:
                return found
            for uniform in self.uniforms:
                uniform.refine()


def enclosure(uniform: LazyUniform) -> Ball:
    """The ball of exactly the numbers that the uniform number can be: no wider than its known bits leave it."""
    from flint import arb

    exponent = -1 - uniform.bits
    return arb((2 * uniform.prefix + 1, exponent), (1, exponent))


class RealDistribution(Protocol):
    """A continuous distribution on the real line."""

    def draw(self, source: Source) -> Real:
        """A fresh random number."""
        ...

    def above(self, z: Fraction) -> Ball:
        """P[eta > z], as a ball at the working precision."""
        ...


class SymmetricDistribution(ABC):
    """A distribution with P[eta > z] = P[eta < -z], given by its tail for z >= 0."""

    @abstractmethod
    def tail(self, z: Fraction) -> Ball:
        """P[eta > z] for z >= 0."""

    def above(self, z: Fraction) -> Ball:
        """P[eta > z], as a ball at the working precision."""
        return self.tail(z) if z >= 0 else 1 - self.tail(-z)


def is_true(uniforms: tuple[LazyUniform, ...], statement: Callable[..., bool | None]) -> bool:
    """Whether a statement about uniform numbers is true, learning bits of all of them until it is certain."""

    def decide(*numbers: Ball) -> Any:
        return statement(*numbers)

    return bool(Real(uniforms, decide).settle(lambda verdict: verdict))


@dataclass(frozen=True)
class Rounding:
    """floor(centre + scale eta + 1/2) as whole + floor(scale (eta + rest)).

    Where the centre lies on an edge, rest is 0 and the sign of eta decides at once, however small the scale.
    """

    whole: int
    scale: Fraction
    rest: Fraction

    @staticmethod
    def of(scale: Fraction, centre: Fraction) -> Rounding:
        start = centre + _HALF
        whole = start.numerator // start.denominator
        return Rounding(whole, scale, (start - whole) / scale)

    def one(self, distribution: RealDistribution, source: Source) -> int:
        """One draw."""
        return self.whole + distribution.draw(source).settle(self._steps)

    def _steps(self, eta: Ball) -> int | None:
        return whole_part(ball(self.scale) * (eta + ball(self.rest)))


def rounded(
    distribution: RealDistribution, scale: Fraction, centre: Fraction = Fraction(0), source: Source = _KERNEL
) -> int:
    """centre + scale eta, rounded to the nearest whole number; scale > 0.

    Rounding comes last, so the centre may be any rational number: the result is post-processing of the real sum.
    """
    return Rounding.of(scale, centre).one(distribution, source)


def many_rounded(
    distribution: RealDistribution, scale: Fraction, size: int, centre: Fraction = Fraction(0), source: Source = _KERNEL
) -> NDArray[Any]:
    """An array of `size` independent numbers centre + scale eta, each rounded to the nearest whole number."""
    rounding = Rounding.of(scale, centre)
    return as_array([rounding.one(distribution, source) for _ in range(whole(size, "size", least=0))])


def mass(distribution: RealDistribution, k: int, scale: Fraction, centre: Fraction = Fraction(0)) -> Ball:
    """P[round(centre + scale eta) = k], as a ball at the working precision."""
    low, high = (k - _HALF - centre) / scale, (k + _HALF - centre) / scale
    if high <= 0 and isinstance(distribution, SymmetricDistribution):
        low, high = -high, -low  # no digits cancel in an upper tail
    return distribution.above(low) - distribution.above(high)
