"""Discrete Gaussian: P[x] proportional to exp(-x^2 / (2 sigma_squared)) on the integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.noise.balls import LazyUniform, ball
from dither.noise.bernoulli import exp_coin
from dither.noise.laplace import laplace_by_balls
from dither.noise.request import as_array, checked_size, variance_in_range
from dither.parameters import Number, sqrt_up


def discrete_gaussian(sigma_squared: Number, size: int | None = None) -> Any:
    """Exactly discrete Gaussian draws: an int, or an array of `size` of them."""
    variance, count = variance_in_range(sigma_squared, "sigma_squared"), checked_size(size)
    if count is None:
        return one(variance)
    return as_array([one(variance) for _ in range(count)])


def one(variance: Fraction) -> int:
    """Rejection from a discrete Laplace of scale t: accept x with probability exp(-(|x| - variance/t)^2 / (2 variance))."""
    t = Fraction(int(sqrt_up(variance)) + 1)
    while True:
        x = laplace_by_balls(t, LazyUniform())
        if exp_coin((abs(x) - variance / t) ** 2 / (2 * variance), LazyUniform()):
            return x
