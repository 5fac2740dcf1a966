"""One noisy answer, with everything public about it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting.guarantee import Guarantee
from dither.mechanisms.values import Steps, add, shift, size_of, times_grid
from dither.parameters import Number

if TYPE_CHECKING:
    from dither.mechanisms.additive import AdditiveNoise


@dataclass(frozen=True, eq=False)
class Release:
    """What `release` returns: the noisy value, its guarantee and its error. Reading it costs nothing more."""

    steps: Steps
    mechanism: AdditiveNoise

    @property
    def value(self) -> Any:
        """The noisy value: an int, or a Fraction on a grid that is not whole; an array of these for a vector."""
        return times_grid(self.steps, self.mechanism.grid)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in the units of the value."""
        return self.mechanism.scale

    def interval(self, confidence: Number, *, together: bool = False) -> tuple[Any, Any]:
        """Bounds around the value that cover the exact one with at least this probability over the noise.

        For a vector each coordinate is covered by itself; with together=True all of them at once.
        """
        size = size_of(self.steps)
        width = self.mechanism.error(confidence, count=max(1, size or 1) if together else 1)
        # In half steps where the width has one, so that everything stays whole.
        part = (width / self.mechanism.grid).denominator
        steps, unit = (self.steps if part == 1 else add(self.steps, self.steps)), self.mechanism.grid / part
        reach = (width / unit).numerator
        return times_grid(shift(steps, -reach), unit), times_grid(shift(steps, reach), unit)
