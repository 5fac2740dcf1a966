"""One noisy answer, with everything public about it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting.guarantees.guarantee import Guarantee
from dither.escape import markup
from dither.exact.digits import write
from dither.exact.intervals import Interval
from dither.exact.parameters import Number, probability
from dither.exact.short_forms import stated_price
from dither.mechanisms.values import Steps, add, shift, size_of, times_grid

if TYPE_CHECKING:
    from dither.mechanisms.additive.addition import AdditiveNoise

_CONFIDENCE = "0.95"
_MOST_SHOWN = 10  # coordinates of a vector


@dataclass(frozen=True, eq=False, repr=False)
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

    def interval(self, confidence: Number = _CONFIDENCE, *, together: bool = False) -> Interval:
        """Bounds around the value that cover the exact one with at least this probability over the noise.

        For a vector each coordinate is covered by itself; with together=True all of them at once.
        """
        size = size_of(self.steps)
        width = self.mechanism.error(confidence, count=max(1, size or 1) if together else 1)
        # In half steps where the width has one, so that everything stays whole.
        part = (width / self.mechanism.grid).denominator
        steps, unit = (self.steps if part == 1 else add(self.steps, self.steps)), self.mechanism.grid / part
        reach = (width / unit).numerator
        return Interval(times_grid(shift(steps, -reach), unit), times_grid(shift(steps, reach), unit))

    def plot(self, confidence: Number = _CONFIDENCE) -> Any:
        """An altair chart: a bar for each number with its interval, all covered together. It costs nothing more."""
        from dither.mechanisms.pictures.outcomes import plot_published

        return plot_published(type(self.mechanism).__name__, self, probability(confidence, "confidence"))

    def __repr__(self) -> str:
        return f"{type(self.mechanism).__name__} release {self}"

    def _repr_html_(self) -> str:
        return f"<span>{markup(repr(self))}</span>"

    def __str__(self) -> str:
        """The value with its error and price; digits below the error are not written."""
        width, grid = self.mechanism.error(_CONFIDENCE), self.mechanism.grid
        unit = grid if _is_power_of_ten(grid) else None
        if isinstance(self.steps, int):
            value, error = write(self.steps * grid, width, unit=unit)
            return f"{value} ± {error} (95%), {stated_price(self.guarantee)}"
        values = [write(int(step) * grid, width, unit=unit)[0] for step in self.steps.flat[:_MOST_SHOWN]]
        hidden = self.steps.size - len(values)
        listed = ", ".join(values) + (f", ... {hidden:,} more" if hidden else "")
        return f"[{listed}] ± {write(Fraction(0), width, unit=unit)[1]} (95% each), {stated_price(self.guarantee)}"


def _is_power_of_ten(number: Fraction) -> bool:
    """Whether digits can end exactly where the grid does."""
    digits = str(max(number.numerator, number.denominator))
    return min(number.numerator, number.denominator) == 1 and digits.rstrip("0") == "1"
