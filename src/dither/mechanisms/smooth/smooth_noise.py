"""Noise in proportion to a smooth bound of the local sensitivity: what the mechanisms of this kind share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy.typing as npt

from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.errors import NotPublic, ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, float_up, sign
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, interval, positive, power_of_two_below, probability, whole
from dither.mechanisms.outcome import HiddenOutcome
from dither.mechanisms.scores import exact_fraction
from dither.mechanisms.sensitivity_bounds import read_relation
from dither.mechanisms.values import times_grid
from dither.neighbours import Relation
from dither.noise.reals.rounded_reals import RealDistribution, many_rounded, mass, rounded

# Without declared bounds answers are multiples of this: a constant, so it tells nothing.
DEFAULT_GRID = Fraction(1, 1 << 30)
_STEPS_PER_RANGE = 1 << 40
# A smooth sensitivity below this share of a grid step is raised to it: no data switch the noise off.
_SMALLEST_SHARE = Fraction(1, 1 << 10)
# More epsilon than this is accepted and not used: e^1000 is noise beyond measuring already.
_MOST_EPSILON = Fraction(1000)
_BITS = 60

_HIDDEN = "depends on the private smooth sensitivity: publishing it would say more than was paid for."


class SmoothOutcome(HiddenOutcome):
    """A noisy value whose noise follows the data: its scale and interval are not public."""

    _why = "the noise depends on the private smooth sensitivity, and either would say more than was paid for."


@dataclass(frozen=True, init=False, repr=False)
class SmoothNoise(Frozen, ABC):
    """value + (S / divisor) eta, rounded to a public grid, for a beta-smooth upper bound S of the local sensitivity.

    S is beta-smooth when S(D) is at least the local sensitivity of D and S(D) <= e^beta S(D') for all neighbours. The
    real sum is rounded, once, at the end: so values may be any exact numbers, and the guarantee is that of the
    continuous noise. docs/proofs/smooth.md.
    """

    beta: Fraction
    divisor: Fraction
    grid: Fraction
    lower: Fraction | None
    upper: Fraction | None
    relation: Relation

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee, for values and smooth bounds as described."""

    @property
    @abstractmethod
    def distribution(self) -> RealDistribution:
        """The distribution of eta."""

    @property
    def scale(self) -> NoReturn:
        raise NotPublic(f"the scale of the noise {_HIDDEN} `spread` gives it in units of the smooth sensitivity.")

    def error(self, *_: object, **__: object) -> NoReturn:
        """Not public; `spread` is."""
        raise NotPublic(f"the error {_HIDDEN} `spread` gives it in units of the smooth sensitivity.")

    interval = error

    def spread(self, confidence: Number) -> Fraction:
        """A w, rounded up, with P(|noise| > w S) <= 1 - confidence before rounding to the grid: public, S is not."""
        allowed = (1 - probability(confidence, "confidence")) / 2

        def too_small(w: Fraction) -> bool:
            return sign(lambda: self.distribution.above(w) - ball(allowed), undecided=1) > 0

        low, high = Fraction(0), Fraction(1)
        while too_small(high):
            low, high = high, 2 * high
        while (high - low) * (1 << 20) > high:
            middle = (low + high) / 2
            low, high = (middle, high) if too_small(middle) else (low, middle)
        return dyadic_up(high / self.divisor)

    def moment(self, order: int) -> float:
        """A bound, rounded up, of E|noise|^order in units of S^order, before rounding to the grid; infinity if none.

        The noise is symmetric: `moment(1)` is the expected error, `moment(2)` the variance.
        """
        from dither.mechanisms.smooth.moments import absolute_moment

        power = whole(order, "order", most=100)
        found = absolute_moment(self.distribution, power)
        return float_up(Fraction(found) / self.divisor**power) if math.isfinite(found) else found

    def release(self, value: Any, smooth_sensitivity: Any) -> SmoothOutcome:
        """value + noise. Both are private exact numbers (int, Fraction, Decimal); no error message contains any of it.

        With declared bounds the value is clamped to them and the smooth sensitivity to their distance.
        """
        centre, scale = self.in_steps(value, smooth_sensitivity)
        return SmoothOutcome(times_grid(rounded(self.distribution, scale, centre), self.grid), self)

    def draws(self, data: tuple[Any, Any], size: int) -> npt.NDArray[Any]:
        """What `size` independent releases of (value, smooth sensitivity) publish, in grid steps."""
        centre, scale = self.in_steps(*data)
        return many_rounded(self.distribution, scale, size, centre)

    def pmf(self, steps: int, value: Any, smooth_sensitivity: Any) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability to publish this multiple of the grid. Its arguments are private."""
        centre, scale = self.in_steps(value, smooth_sensitivity)
        return bounds(lambda: mass(self.distribution, steps, scale, centre), bits=40)

    def plot(self, value: Number | None = None, smooth_sensitivity: Number | None = None) -> Any:
        """An altair chart: the exact distributions on two neighbours that differ as much as they may, and their ratio.

        For explaining, never for data: what is drawn is not private.
        """
        from dither.mechanisms.pictures.noise import plot_smooth

        return plot_smooth(self, value, smooth_sensitivity)

    def effective(self, smooth_sensitivity: Any) -> Fraction:
        """The smooth bound that noise is drawn for: at most the declared range, at least 1/1024 of a grid step.

        Private, as its argument is, and as smooth.
        """
        bound = exact_fraction(smooth_sensitivity, "smooth_sensitivity")
        if not bound >= 0:
            raise ParameterError("smooth_sensitivity must be 0 or more.")
        if self.lower is not None and self.upper is not None:
            bound = min(bound, self.upper - self.lower)
        return max(bound, self.grid * _SMALLEST_SHARE)

    def in_steps(self, value: Any, smooth_sensitivity: Any) -> tuple[Fraction, Fraction]:
        """The value and the scale of its noise in grid steps.

        Largest and smallest of a smooth bound and a constant are smooth bounds again, and clamping a value moves two of
        them no further apart.
        """
        centre = exact_fraction(value, "the value")
        bound = self.effective(smooth_sensitivity)
        if self.lower is not None and self.upper is not None:
            centre = min(max(centre, self.lower), self.upper)
        return centre / self.grid, bound / (self.divisor * self.grid)


@dataclass(frozen=True, init=False, repr=False)
class PureSmoothNoise(SmoothNoise):
    """Noise with tails so heavy that epsilon pays for every shift and stretch by itself."""

    epsilon: Fraction

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon, self.relation)


def read_output(
    grid: Number | None, lower: Number | None, upper: Number | None, relation: Relation | str | None
) -> dict[str, Any]:
    """The checked public parameters of the output: bounds (both or none), grid, relation."""
    if (lower is None) != (upper is None):
        raise ParameterError("give both lower= and upper=, or neither.")
    low, high = (None, None) if lower is None or upper is None else interval(lower, upper, "the value")
    if grid is not None:
        step = positive(grid, "grid")
    elif low is not None and high is not None:
        step = power_of_two_below(high - low) / _STEPS_PER_RANGE
    else:
        step = DEFAULT_GRID
    if low is not None and high is not None and not step <= high - low:
        raise ParameterError("the grid is coarser than the declared range; give a smaller grid=.")
    return {"grid": step, "lower": low, "upper": high, "relation": read_relation(relation, Relation.REPLACE)}


def usable(epsilon: Fraction) -> Fraction:
    """The part of epsilon that calibrations use: less of it only means more noise."""
    return min(epsilon, _MOST_EPSILON)


def below(evaluate: Callable[[], Ball]) -> Fraction:
    """A positive number rounded down to 60 significant bits: divisors and smoothness are safe when smaller."""
    low, _ = bounds(evaluate)
    if not low > 0:
        raise ParameterError(
            "no noise of this kind exists for these parameters; give a smaller beta= or a larger epsilon."
        )
    scale = Fraction(2) ** (_BITS - (low.numerator.bit_length() - low.denominator.bit_length()))
    return math.floor(low * scale) / scale


def largest(keeps: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest s in (0, most] that certainly keeps a claim, to 60 bits; the claim holds for smaller s if for s."""
    if keeps(most):
        return most
    low, high = Fraction(0), most
    for _ in range(_BITS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    if not low:
        raise ParameterError(
            "beta= is too large: stretching the noise that much costs more than epsilon and delta by itself."
        )
    return low


def read_beta(beta: Number, most: Fraction) -> Fraction:
    """A smoothness chosen by the caller: positive, and below what epsilon allows at all."""
    chosen = positive(beta, "beta")
    if not chosen < most:
        raise ParameterError(f"beta must be less than {float(most):.6g} for this epsilon; got {float(chosen):.6g}.")
    return chosen
