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
    base, base_error = _cells(nodes, 0.0)
    moved, moved_error = _cells(nodes - 1 / s, 1 / s)
    left_out = float(1 - rate)
    mixed = left_out * base + q * moved
    mixed_error = (left_out * base * base_error + q * moved * moved_error) / mixed + 8 * U
    exponent = nodes / s - 1 / (2 * s * s)
    floor = math.log1p(-q) if q < 0.5 else math.log(left_out)
    loss = np.logaddexp(floor, math.log(q) + exponent)
    # The derivatives of the loss by both terms lie between 0 and 1, so their own rounding is all that can add up.
    wrong = FUNCTION * (np.abs(loss) + np.abs(exponent) + 1 / (2 * s * s) - math.log(q) - floor) + 4 * U
    low = np.concatenate([[floor], loss])
    high = np.concatenate([loss, [math.inf]])
    doubt = np.concatenate([[2 * wrong[0]], np.maximum(wrong[1:], wrong[:-1]), [wrong[-1]]])
    removed = from_cells(mixed, base, mixed_error + base_error, low, high, doubt)
    # Its largest losses lie in a tail of mass 1e-68, which is given up: placed at their bound they would outweigh all.
    added = from_cells(base, mixed, mixed_error + base_error, -high, np.concatenate([[math.inf], -loss]), doubt)
    return Atoms(removed.points, removed.lower_points, removed.lost, removed.lower_lost, added, removed.slack)


def _cells(nodes: Reals, shift: float) -> tuple[Reals, Reals]:
    """P[N(0,1) in cell] for the cells between the nodes and the two outside them, with relative error bounds."""
    tails = np.array([math.erfc(abs(x) / math.sqrt(2)) / 2 for x in nodes])
    # The condition number of erfc at x is about 2 + x^2; the nodes carry the rounding of their shift.
    doubt = tails * 8 * U * (4 + nodes * nodes + shift * (1 + np.abs(nodes)))
    upper = nodes >= 0
    left, right = slice(None, -1), slice(1, None)
    inside = np.where(upper[left], tails[left] - tails[right], tails[right] - tails[left])
    crossing = ~upper[left] & upper[right]
    inside = np.where(crossing, 1 - tails[left] - tails[right], inside)
    wrong = np.where(crossing, 8 * U * (1 + shift), doubt[left] + doubt[right])
    masses = np.concatenate([[tails[0] if not upper[0] else 1 - tails[0]], inside, [tails[-1]]])
    errors = np.concatenate([[doubt[0] if not upper[0] else 8 * U], wrong, [doubt[-1]]])
    return masses, errors / masses
