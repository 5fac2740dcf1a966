"""Random real numbers of which as many bits are drawn as it takes to decide something about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from dither.exact.balls import Ball, ball
from dither.exact.precision import precision
from dither.noise.entropy import Learn, learn_bits, random_bits


@dataclass
class LazyUniform:
    """A uniform real number in [0, 1) of which the first `bits` bits are known.

    prefix / 2**bits <= U < (prefix + 1) / 2**bits.
    """

    prefix: int = 0
    bits: int = 0
    learn: Learn = field(default=learn_bits)

    def refine(self) -> None:
        """Learn some more bits."""
        count, word = self.learn()
        self.prefix = (self.prefix << count) | word
        self.bits += count

    def ends(self) -> tuple[Fraction, Fraction]:
        """The ends of the interval in which U is known to lie."""
        return Fraction(self.prefix, 1 << self.bits), Fraction(self.prefix + 1, 1 << self.bits)

    def ball(self) -> Ball:
        """A ball that contains U: the hull of its two ends."""
        low, high = self.ends()
        return ball(low).union(ball(high))


def fresh_uniform(bits: int = 64) -> LazyUniform:
    """A new uniform number, known to `bits` bits."""
    return LazyUniform(random_bits(bits), bits)


def resolve(uniform: LazyUniform, decide: Callable[[Ball], int | None]) -> int:
    """The value that `decide` gives for the uniform number, learning bits until it is certain."""
    while True:
        with precision(uniform.bits + 64):
            found = decide(uniform.ball())
        if found is not None:
            return found
        uniform.refine()
