"""Bounds of a curve that need no transform on a line: tried first, and sharp at both ends of the curve.

Proofs: docs/proofs/pld.md, "Bounds without a line".
"""

from __future__ import annotations

import math

from dither.accounting.pld.distribution import FUNCTION
from dither.accounting.pld.grid import best_order
from dither.accounting.pld.sums import Sum


def log_delta_bounds(losses: Sum, epsilon: float) -> tuple[float, float]:
    """ln of bounds of delta from epsilon to the next float, of what is not lost.

    Above by the variation, Markov's inequality and the top, below by the affinity and the top atom.
    """
    if losses.top <= epsilon:
        return -math.inf, -math.inf
    high = min(best_order(losses, epsilon, log_delta=False)[1], log_variation(losses), 0.0)
    below_top = math.log(-math.expm1(epsilon - losses.top))
    high = min(high, below_top + 2 * FUNCTION * (1 + abs(below_top)))
    epsilon = math.nextafter(epsilon, math.inf)
    alike = epsilon / 2 + _log_affinity(losses)
    far = math.exp(losses.log_kept) - math.exp(min(alike, 1.0)) - 4 * FUNCTION
    low = math.log(far) - FUNCTION if far > 0 else -math.inf
    for top, mass, kept in losses.top_atoms:
        above = kept - 1 - math.expm1(min(epsilon - top, 1.0))
        if above > 8 * FUNCTION * abs(kept - 1):
            low = max(low, mass + math.log(above) - FUNCTION * (4 + abs(mass)))
    return min(low, high), high


def epsilon_bounds(losses: Sum, smallest: float, log_delta: float) -> tuple[float, float]:
    """The same for epsilon at delta, which was rounded down for the upper bound and up for the lower one."""
    if log_variation(losses) <= smallest:
        return 0.0, 0.0
    high = max(min(best_order(losses, smallest, log_delta=True)[1], losses.top), 0.0)
    far = math.exp(losses.log_kept) - math.exp(log_delta) - 4 * FUNCTION
    low = 2 * (math.log(far) - _log_affinity(losses)) - FUNCTION if far > 0 else 0.0
    for top, mass, kept in losses.top_atoms:
        if mass > log_delta + FUNCTION * (2 + abs(mass)):
            share = 1 - kept + math.exp(log_delta - mass) * (1 + FUNCTION * (4 + abs(mass)))
            low = max(low, (top + math.log1p(-share)) * (1 - 4 * FUNCTION)) if share < 1 else low
    return min(max(low, 0.0), high), high


def log_variation(losses: Sum) -> float:
    """ln of a bound of delta at 0: total variations add up."""
    total = math.erf(math.sqrt(losses.mu_squared / 8)) + sum(
        count * distribution.variation for distribution, count in losses.distributions
    )
    return math.log(total) + 4 * FUNCTION if total > 0 else -math.inf


def _log_affinity(losses: Sum) -> float:
    total = (
        sum(count * distribution.log_affinity for distribution, count in losses.distributions) - losses.mu_squared / 8
    )
    return total + 8 * FUNCTION * (1 + abs(total))
