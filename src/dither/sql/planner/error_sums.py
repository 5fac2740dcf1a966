"""The error of a sum of two noisy numbers: less than both of their errors added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import Gaussian, Laplace
from dither.sql.plan.aggregates import Aggregator
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.planner.mechanism_choice import Mechanism, half_width, noise_of

_OUTWARD = 1 + 2.0**-30  # more than the relative error of the float operations below


def errors_of(aggregate: Aggregator, mechanisms: Sequence[Mechanism], confidence: Fraction) -> list[Fraction]:
    """For each measure an amount of noise, such that all of it together holds with this confidence.

    For a sum of two noises it is all in the first one: that is what their sum stays within.
    """
    if isinstance(aggregate, CentredSum) and not aggregate.middle:
        return [half_width(mechanisms[0], confidence), Fraction(0)]
    if isinstance(aggregate, CentredSum):
        joint = _joint(mechanisms, aggregate.coefficients, confidence)
        if joint is not None:
            return [joint, Fraction(0)]
    sure = 1 - (1 - confidence) / aggregate.confidence_split
    return [half_width(mechanism, sure) for mechanism in mechanisms]


def scaled(values: NDArray[Any], factor: Fraction) -> NDArray[Any]:
    """Noisy integers times a factor, rounded to the nearest."""
    if factor == 1:
        return values
    above, below = factor.numerator, factor.denominator
    wide = np.asarray(values)
    if wide.dtype != object and (not wide.size or int(np.abs(wide.astype(np.float64)).max()) < 2**62 // above):
        return (wide * above + below // 2) // below
    return (wide.astype(object) * above + below // 2) // below


def scaled_errors(errors: Sequence[Fraction], factors: Sequence[Fraction]) -> list[Fraction]:
    """Amounts of noise on numbers that are scaled so, rounding included."""
    return [
        error if factor == 1 else error * factor + Fraction(1, 2) for error, factor in zip(errors, factors, strict=True)
    ]


def _joint(mechanisms: Sequence[Mechanism], factors: Sequence[int], confidence: Fraction) -> Fraction | None:
    """w with P(|sum of factor * noise| > w) <= 1 - confidence, for the noise really drawn.

    A rounded Gaussian is within half a step of a Gaussian. A discrete Laplace variable is within a step of a Laplace
    variable of the same scale: P(|X| >= k) = 2 q^k / (1 + q) lies between q^k and q^(k-1).
    """
    noises = [noise_of(mechanism) for mechanism in mechanisms]
    used = [(noise, abs(factor)) for noise, factor in zip(noises, factors, strict=True) if factor]
    steps = sum((factor for _, factor in used), 0)
    missed = float(1 - confidence)
    scales = [float(noise.scale) * factor for noise, factor in used if noise is not None]
    if len(used) != 2:
        return None
    if all(isinstance(noise, Gaussian) for noise, _ in used):
        reach = -NormalDist().inv_cdf(missed / 2)
        return Fraction(reach * math.hypot(*scales) * _OUTWARD) + Fraction(steps, 2)
    if all(isinstance(noise, Laplace) for noise, _ in used):
        return Fraction(_of_laplace(max(scales), min(scales), missed) * _OUTWARD) + steps
    return None


def _of_laplace(wide: float, narrow: float, missed: float) -> float:
    """The smallest t (rounded up) beyond which two Laplace variables together are with probability `missed`."""

    def tail(t: float) -> float:
        if wide - narrow < 1e-6 * wide:  # the limit for equal scales; of the wider one it is an upper bound
            return (1 + t / (2 * wide)) * math.exp(-t / wide)
        between = wide**2 * math.exp(-t / wide) - narrow**2 * math.exp(-t / narrow)
        return between / (wide**2 - narrow**2)

    low, high = 0.0, wide
    while tail(high) > missed:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= missed else (middle, high)
    return high
