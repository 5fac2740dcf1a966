"""Gaussian noise on a secret Poisson sample: the worst pair is N(0, s^2) against a mixture with N(1, s^2)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.pld.atoms import Atoms, from_cells
from dither.accounting.pld.law import FUNCTION, Reals, U

# Cells per standard deviation, and how many standard deviations are looked at: beyond lie 1e-68 of the mass.
_DENSITY = 64
_REACH = 17.5


@lru_cache(32)
def subsampled_gaussian_law(sigma: Fraction, rate: Fraction) -> Atoms:
    """Poisson sampling with probability `rate`, then N(0, sigma^2) at sensitivity 1; add or remove one record.

    Removing compares (1-q) N(0) + q N(1) with N(0), adding the reverse (Zhu, Dong and Wang 2022, Theorem 11).
    """
    s, q = float(sigma), float(rate)
    nodes = np.arange(-math.ceil(_REACH * _DENSITY), math.ceil((_REACH + 1 / s) * _DENSITY) + 1) / _DENSITY
    base, base_error = _cells(nodes)
    moved, moved_error = _cells(nodes - 1 / s)
    mixed = (1 - q) * base + q * moved
    mixed_error = ((1 - q) * base * base_error + q * moved * moved_error) / mixed + 8 * U
    exponent = nodes / s - 1 / (2 * s * s)
    inner = np.log1p(q * np.expm1(np.minimum(exponent, 600.0)))
    loss = np.where(exponent < 600, inner, exponent + math.log(q))
    # d loss / d exponent lies between 0 and 1, so the exponent's own rounding is all that can add up.
    wrong = FUNCTION * (np.abs(loss) + np.abs(exponent) + 1 / (2 * s * s)) + 4 * U
    low = np.concatenate([[math.log1p(-q)], loss])
    high = np.concatenate([loss, [math.inf]])
    doubt = np.concatenate([[2 * wrong[0]], np.maximum(wrong[1:], wrong[:-1]), [wrong[-1]]])
    removed = from_cells(mixed, base, mixed_error + base_error, low, high, doubt)
    added = from_cells(base, mixed, mixed_error + base_error, -high, -low, doubt)
    return Atoms(removed.points, removed.lower_points, removed.lost, removed.lower_lost, added, removed.slack)


def _cells(nodes: Reals) -> tuple[Reals, Reals]:
    """P[N(0,1) in cell] for the cells between the nodes and the two outside them, with relative error bounds."""
    tails = np.array([math.erfc(abs(x) / math.sqrt(2)) / 2 for x in nodes])
    # The condition number of erfc at x is about 2 + x^2.
    doubt = tails * 8 * U * (4 + nodes * nodes)
    upper = nodes >= 0
    left, right = slice(None, -1), slice(1, None)
    inside = np.where(upper[left], tails[left] - tails[right], tails[right] - tails[left])
    crossing = ~upper[left] & upper[right]
    inside = np.where(crossing, 1 - tails[left] - tails[right], inside)
    wrong = np.where(crossing, 8 * U, doubt[left] + doubt[right])
    masses = np.concatenate([[tails[0] if not upper[0] else 1 - tails[0]], inside, [tails[-1]]])
    errors = np.concatenate([[doubt[0] if not upper[0] else 8 * U], wrong, [doubt[-1]]])
    return masses, errors / masses
