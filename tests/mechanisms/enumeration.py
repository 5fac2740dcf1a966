"""Exact distributions against a claim, by enumeration. The common suite and the planted bugs use the same checks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from dither.exact.balls import ball, bounds


def distribution(mechanism, tail="1e-14"):
    """Certified bounds of the noise at -reach..reach grid steps: (reach, low, high)."""
    reach = int(mechanism.error(1 - Fraction(tail)) / mechanism.grid) + 2
    half = [mechanism.pmf(k) for k in range(reach + 1)]
    low, high = ([pair[side] for pair in half] for side in (0, 1))
    return reach, low[:0:-1] + low, high[:0:-1] + high


def hockey_stick(mechanism, shift, epsilon):
    """Certified bounds of sum (p - e^epsilon q)_+, q being p moved by `shift` steps; points not listed count fully."""
    _, low, high = distribution(mechanism)
    under, over = bounds(lambda: ball(Fraction(epsilon)).exp())
    kept = len(low) - shift
    at_least = sum(max(Fraction(0), low[i] - over * high[i + shift]) for i in range(kept))
    at_most = sum(max(Fraction(0), high[i] - under * low[i + shift]) for i in range(kept))
    return at_least, at_most + 1 - sum(low[:kept])


def renyi_over_order(mechanism, shift, order):
    """A lower bound of D_order(P || Q) / order, q being p moved by `shift` steps: what rho must be at least."""
    _, low, high = distribution(mechanism)
    moment = sum(float(low[i]) * float(low[i] / high[i + shift]) ** (float(order) - 1) for i in range(len(low) - shift))
    return np.log(moment) / (float(order) - 1) / float(order)


def chi_square(sample, mechanism):
    """The p-value of a sample of noise (in grid steps) under the exact distribution, in 60 equally likely cells."""
    reach, low, _ = distribution(mechanism, "1e-7")
    expected = np.array([float(p) for p in low]) * len(sample)
    observed = np.bincount(np.clip(sample, -reach, reach) + reach, minlength=2 * reach + 1)
    cell = np.unique((np.cumsum(expected) / (len(sample) / 60)).astype(int), return_inverse=True)[1]
    seen, meant = np.bincount(cell, weights=observed), np.bincount(cell, weights=expected)
    large = meant >= 25
    seen, meant = np.append(seen[large], seen[~large].sum()), np.append(meant[large], meant[~large].sum())
    seen, meant = seen[meant > 0], meant[meant > 0]
    return float(stats.chisquare(seen, meant * seen.sum() / meant.sum()).pvalue)
