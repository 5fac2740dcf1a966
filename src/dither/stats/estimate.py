"""What a private statistic returns: the value, its guarantee, and an interval where one is public."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import NotPublic
from dither.exact.intervals import Interval
from dither.exact.parameters import Number, probability

# From a confidence to bounds around the value.
Bounds = Callable[[Fraction], tuple[Any, Any]]
_USUAL = Fraction(19, 20)
P = ParamSpec("P")
E = TypeVar("E", bound="Estimate")


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """A published statistic. `value` is a plain number (or a label, or several); `exact` is what was drawn, unrounded.

    `interval(confidence)` covers the noise: the statistic of the sanitised records lies inside with at least that
    probability; of several numbers, all of them at once. Where noise follows the data there is no public interval and
    NotPublic says how to get one. `statistic` is its name, as in "mean".
    """

    value: Any
    guarantee: Guarantee
    method: str
    exact: Any = None
    bounds: Bounds | None = field(default=None, repr=False)
    hidden: str = field(default="this statistic has no interval.", repr=False)
    scale_: Fraction | None = field(default=None, repr=False)
    statistic: str = field(default="", kw_only=True)
    confidence: Fraction = field(default=_USUAL, kw_only=True)  # of an interval, unless another is asked for
    ordered: bool = field(default=False, kw_only=True)  # whether its cells stand in an order of their own
    parts: Mapping[str, Guarantee] = field(default_factory=dict, kw_only=True)  # of the price, where it has several

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in the units of the value, where it is one public number."""
        if self.scale_ is None:
            raise NotPublic(f"the noise of this answer has no public scale of its own: {self.hidden}")
        return self.scale_

    def interval(self, confidence: Number | None = None) -> Interval:
        """Bounds that cover the statistic with at least this probability over the noise.

        By default 95%, or what it was bought at.
        """
        sure = self.confidence if confidence is None else probability(confidence, "confidence")
        if self.bounds is None:
            raise NotPublic(f"no interval is public: {self.hidden}")
        return Interval(*self.bounds(sure))

    def plot(self, confidence: Number | None = None) -> Any:
        """An altair chart: a bar for each number, with its interval where one is public, or the names published."""
        from dither.mechanisms.pictures.outcomes import plot_published

        sure = self.confidence if confidence is None else probability(confidence, "confidence")
        return plot_published(self.statistic or self.method, self, sure)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        from dither.stats.estimate_text import estimate_text

        return estimate_text(self)

    def _repr_html_(self) -> str:
        from dither.stats.estimate_text import estimate_html

        return estimate_html(self)


def statistic(function: Callable[P, E]) -> Callable[P, E]:
    """A public statistic: what it returns bears its name."""

    @wraps(function)
    def named(*given: P.args, **stated: P.kwargs) -> E:
        return replace(function(*given, **stated), statistic=function.__name__.rstrip("_"))

    return named


def plain(number: Fraction | float) -> int | float:
    """A whole number as it is, any other as the nearest float. Rounding is post-processing."""
    if isinstance(number, int):
        return number
    return float(number)
