"""Discrete Gaussian noise on one whole number: its losses are a lattice, its masses a Gaussian on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.pld.atoms import Atoms
from dither.accounting.pld.distribution import FUNCTION, U
from dither.accounting.pld.points import Points

_REACH = 40  # in sigma; beyond it lies less than 1e-340 of the mass
_BEYOND = Fraction(1, 10**340)


@dataclass(frozen=True, eq=False)
class DiscreteGaussian(Atoms):
    """P[x] in proportion to e^(-x^2/(2 sigma^2)), moved by whole steps d: L = (d^2 - 2 d x)/(2 sigma^2) at noise x.

    A smaller shift is no worse, and the pair is its own mirror image.
    """

    rho: Fraction = Fraction(0)


@lru_cache(32)
def discrete_gaussian_law(sigma: Fraction, steps: int) -> DiscreteGaussian:
    """The law for a sigma of at most 1000."""
    last = math.ceil(_REACH * sigma) + 1
    x = np.arange(-last, last + 1, dtype=np.float64)
    variance = float(sigma**2)
    exponents = x * x / (-2 * variance)
    log_masses = exponents - math.log(math.fsum(np.exp(exponents)))
    losses = steps * (steps - 2 * x) / (2 * variance)
    points = Points(losses, log_masses, 4 * FUNCTION + 4 * U * np.abs(exponents), 4 * U * np.abs(losses))
    slack = 8 * U * float(np.abs(losses).max())
    rho = steps**2 / (2 * sigma**2)
    return DiscreteGaussian(points, points, Fraction(0), Fraction(0), unread=_BEYOND, slack=slack, rho=rho)
