"""A private test of how far the data are from trouble, shared by the mechanisms that publish only when it passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, ceil_of
from dither.exact.parameters import Number, probability
from dither.mechanisms.additive.addition import check_scale
from dither.mechanisms.discrete_laplace import mass, upper_tail
from dither.noise import discrete_laplace


@dataclass(frozen=True)
class DistanceTest:
    """Passes iff distance + X >= threshold, X discrete Laplace with q = exp(-epsilon).

    At distance 0 it passes with probability q^threshold / (1 + q) <= delta: the threshold is the smallest whole number
    for which that holds. The outcome of the test is epsilon-DP in the distance, which moves by at most 1.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        check_scale(1 / self.epsilon)

    @property
    def threshold(self) -> int:
        return smallest_tail(1 / self.epsilon, self.delta)

    def passing(self, distance: int | float) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability that the test passes at a distance: for planning, not for data."""
        steps = read_distance(distance)
        if steps is None:
            return Fraction(1), Fraction(1)
        return tail_bounds(1 / self.epsilon, self.threshold - steps)

    def passes(self, distance: int | float) -> bool:
        """One run of the test. An infinite distance always passes; the noise is drawn all the same."""
        return bool(self.passes_each(distance, 1)[0])

    def passes_each(self, distance: int | float, size: int) -> npt.NDArray[np.bool_]:
        """Independent runs of the test at the same distance."""
        steps, noise = read_distance(distance), discrete_laplace(1 / self.epsilon, size)
        if steps is None:
            return np.ones(size, np.bool_)
        # Distances may be larger than int64 can hold; the difference is compared instead of the sum.
        return np.asarray(noise >= self.threshold - steps, np.bool_)


def smallest_tail(scale: Fraction, delta: Fraction, draws: int = 1) -> int:
    """The smallest whole m >= 0 with which none of `draws` independent X reaches m, but for probability delta <= 1/2.

    One draw: P[X >= m] = q^m / (1 + q) <= delta, q = exp(-1/scale); several: <= 1 - (1 - delta)^(1/draws).
    One too large, never too small, if m would be decided only beyond 8192 bits.
    """

    def place() -> Ball:
        # q^m/(1+q) <= d iff m >= -scale ln(d (1 + q))
        return -ball(scale) * (tail_of_each(delta, draws) * (1 + (-ball(1 / scale)).exp())).log()

    return max(0, ceil_of(place))


def tail_of_each(delta: Fraction, draws: int) -> Ball:
    """The tail that each of `draws` independent variables may have, all together delta."""
    return ball(delta) if draws == 1 else -((1 - ball(delta)).log() / draws).expm1()


def tail_bounds(scale: Fraction, least: int) -> tuple[Fraction, Fraction]:
    """Certified bounds of P[X >= least] for discrete Laplace noise."""
    return bounds(lambda: upper_tail(scale, least))


def mass_bounds(scale: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """Certified bounds of P[X = steps] for discrete Laplace noise."""
    return bounds(lambda: mass(scale, steps))


def read_distance(distance: Any) -> int | None:
    """A whole number >= 0, or None for infinity. The number is private and never shown."""
    if isinstance(distance, float) and distance == math.inf:
        return None
    if isinstance(distance, (int, np.integer)) and not isinstance(distance, bool) and distance >= 0:
        return int(distance)
    raise ParameterError("a distance is a whole number of steps, 0 or more, or math.inf; got something else.")


def small_delta(delta: Number) -> Fraction:
    """A delta of at most 1/2: beyond it a test would pass more often than not at distance 0."""
    read = probability(delta, "delta")
    if not read <= Fraction(1, 2):
        raise ParameterError(f"delta must be at most 1/2 here; got {float(read):g}.")
    return read
