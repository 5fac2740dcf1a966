"""What a statistic of a graph costs: epsilon or rho, and the noise of a public scale that each buys."""

from __future__ import annotations

from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.parameters import Number
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.additive.laplace import Laplace
from dither.sensitivity.norms import Sensitivity


def one_currency(epsilon: Number | None, rho: Number | None) -> None:
    """Refuses none and both."""
    if (epsilon is None) == (rho is None):
        raise ParameterError("state the price as epsilon= or as rho=.")


def public_noise(
    sensitivity: Sensitivity,
    epsilon: Number | None,
    rho: Number | None,
    *,
    grid: Number = Fraction(1),
    rounded_coordinates: int = 0,
) -> AdditiveNoise:
    """Laplace noise for epsilon, Gaussian noise for rho."""
    one_currency(epsilon, rho)
    if epsilon is not None:
        return Laplace(epsilon=epsilon, sensitivity=sensitivity, grid=grid, rounded_coordinates=rounded_coordinates)
    return Gaussian(rho=rho, sensitivity=sensitivity, grid=grid, rounded_coordinates=rounded_coordinates)
