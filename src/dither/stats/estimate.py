"""What a private statistic returns: the value, its guarantee, and an interval where one is public."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import NotPublic
from dither.exact.parameters import Number, probability

# From a confidence to bounds around the value.
Bounds = Callable[[Fraction], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A published statistic. `value` is a plain number (or a label, or several); `exact` is what was drawn, unrounded.

    `interval(confidence)` covers the noise: the statistic of the sanitised records lies inside with at least that
    probability; of several numbers, all of them at once. Where noise follows the data there is no public interval and
    NotPublic says how to get one.
    """

    value: Any
    guarantee: Guarantee
    method: str
    exact: Any = None
    bounds: Bounds | None = field(default=None, repr=False)
    hidden: str = field(default="this statistic has no interval.", repr=False)
    scale_: Fraction | None = field(default=None, repr=False)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in the units of the value, where it is one public number."""
        if self.scale_ is None:
            raise NotPublic(f"the noise of this answer has no public scale of its own: {self.hidden}")
        return self.scale_

    def interval(self, confidence: Number = "0.95") -> tuple[Any, Any]:
        """Bounds that cover the statistic with at least this probability over the noise."""
        sure = probability(confidence, "confidence")
        if self.bounds is None:
            raise NotPublic(f"no interval is public: {self.hidden}")
        return self.bounds(sure)

    def plot(self, confidence: Number = "0.95") -> Any:
        """An altair chart: a bar for each number, with its interval where one is public, or the names published."""
        from dither.mechanisms.pictures.outcomes import plot_published

        return plot_published(self.method, self, probability(confidence, "confidence"))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)


def plain(number: Fraction | float) -> int | float:
    """A whole number as it is, any other as the nearest float. Rounding is post-processing."""
    if isinstance(number, int):
        return number
    return float(number)
