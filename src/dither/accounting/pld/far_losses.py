"""Losses so large that transforms overflow: bounds that need no transform, valid at any size."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.accounting.guarantees.gaussian_curve import LARGEST_READ, gaussian_delta_bounds, gaussian_epsilon_bounds
from dither.exact.balls import float_down, float_up

Bracket = tuple[float, float]

# Figures up to here are read off transforms.
LARGEST = LARGEST_READ


def far_epsilon(top: float, lost: tuple[Fraction, Fraction], mu_squared: Fraction, delta: Fraction) -> Bracket:
    """Epsilon at delta of parts that lose at most `top` (or all, with a probability within `lost`) and a Gaussian.

    Above: basic composition of the two. Below: the Gaussian alone, and what is lost for certain.
    """
    if delta < lost[0]:
        return math.inf, math.inf
    low = gaussian_epsilon_bounds(mu_squared, delta)[0]
    if delta < lost[1]:
        return low, math.inf
    high = top + gaussian_epsilon_bounds(mu_squared, delta - lost[1])[1]
    return low, math.nextafter(high, math.inf) if mu_squared else high


def far_delta(top: float, lost: tuple[Fraction, Fraction], mu_squared: Fraction, epsilon: Fraction) -> Bracket:
    """Delta at epsilon of the same."""
    low = max(gaussian_delta_bounds(mu_squared, epsilon)[0], float_down(lost[0]))
    rest = 1.0
    if epsilon >= top:
        rest = gaussian_delta_bounds(mu_squared, epsilon - Fraction(top))[1] if mu_squared else 0.0
    return low, min(1.0, float_up(lost[1] + Fraction(rest)))
