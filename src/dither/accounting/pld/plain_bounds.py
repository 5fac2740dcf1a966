"""Bounds of a curve that need no transform on a line: tried first, and sharp at both ends of the curve.

Proofs: docs/proofs/pld.md, "Bounds without a line".
"""

from __future__ import annotations

import math

from dither.accounting.pld.distribution import FUNCTION
from dither.accounting.pld.sums import Sum, best_order


def log_delta_bounds(losses: Sum, epsilon: float) -> tuple[float, float]:
    """ln of bounds of delta at epsilon, of what is not lost: total variation and Markov, affinity and the top atom."""
    high = min(best_order(losses, epsilon, log_delta=False)[1], log_variation(losses), 0.0)
    alike = epsilon / 2 + _log_affinity(losses)
    far = math.exp(losses.log_kept) - math.exp(min(alike, 1.0)) - 4 * FUNCTION
    low = math.log(far) - FUNCTION if far > 0 else -math.inf
    top, mass = losses.top_atom
    if epsilon < top and mass > -math.inf:
        low = max(low, mass + math.log(-math.expm1(epsilon - top)) - FUNCTION * (2 + abs(mass)))
    return min(low, high), high


def epsilon_bounds(losses: Sum, log_delta: float) -> tuple[float, float]:
    """The same for epsilon at delta, which was rounded up for the lower bound."""
    if log_variation(losses) <= log_delta:
        return 0.0, 0.0
    high = max(best_order(losses, log_delta, log_delta=True)[1], 0.0)
    far = math.exp(losses.log_kept) - math.exp(log_delta) - 4 * FUNCTION
    low = 2 * (math.log(far) - _log_affinity(losses)) - FUNCTION if far > 0 else 0.0
    top, mass = losses.top_atom
    if mass > log_delta + FUNCTION * (2 + abs(mass)):
        share = math.exp(log_delta - mass) * (1 + FUNCTION * (4 + abs(mass)))
        low = max(low, (top + math.log1p(-share)) * (1 - 4 * FUNCTION)) if share < 1 else low
    return min(max(low, 0.0), high), high


def log_variation(losses: Sum) -> float:
    """ln of a bound of delta at 0: total variations add up."""
    total = math.erf(math.sqrt(losses.mu_squared / 8)) + sum(count * law.variation for law, count in losses.laws)
    return math.log(total) + 4 * FUNCTION if total > 0 else -math.inf


def _log_affinity(losses: Sum) -> float:
    total = sum(count * law.log_affinity for law, count in losses.laws) - losses.mu_squared / 8
    return total + 8 * FUNCTION * (1 + abs(total))
