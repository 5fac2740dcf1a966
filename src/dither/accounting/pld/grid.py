"""Real orders: cumulants on a fixed grid of them, computed as far as they are asked for, and Markov's inequality."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from dither.accounting.pld.distribution import LossDistribution, Reals, U
from dither.accounting.pld.work import budget, charge, spent

GRID = np.logspace(-8, 18, 118)
# The grid is computed piece by piece: from 0.01 to 1, or as far as that is easy, then down and up.
_DOWN, _FIRST, _STEP = (18, 9, 0), 36, 4
# The cumulant is a straight line, for all that matters, below the order at which it is so small.
_STRAIGHT = 1e-3
# ln of how far above its best Markov's bound may be at orders that are of use.
_PAST = 12.0
_NOTHING = -2000.0  # ln of what is nothing beside any delta
_PARTS = np.linspace(0, 1, 25)
_CACHE = 256
_SEARCH = 100_000  # operations that looking for the best order takes


def markov(theta: Reals) -> Reals:
    """ln of the largest (1 - e^-u) e^(-theta u): by Markov, ln delta <= ln M(theta) - theta epsilon + this."""
    return -(1 + theta) * np.log1p(1 / theta) - np.log(theta)


MARKOV = markov(GRID)


class Cumulant(Protocol):
    """What has a cumulant, and a grid of its values."""

    @property
    def log_mass(self) -> float: ...

    @property
    def easy_orders(self) -> float: ...

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]: ...

    def on_grid(self, epsilon: float) -> Reals: ...


class Grid:
    """Upper bounds of a convex cumulant on `GRID`: infinite where not computed, on a chord to 0 below the lowest order.

    Not counted as work, so that no figure depends on what was asked before.
    """

    def __init__(self, measure: Cumulant) -> None:
        self._measure = measure
        self._values = np.full(len(GRID), np.inf)
        first, mass = 27, measure.log_mass
        self._end = max(_FIRST, int(np.searchsorted(GRID, measure.easy_orders)))
        self._compute(first, self._end)
        for lower in _DOWN:
            if self._values[first] - mass < _STRAIGHT:
                break
            self._compute(lower, first)
            first = lower
        share = GRID[:first] / GRID[first]
        self._values[:first] = (1 - share) * mass + share * self._values[first] + 8 * U * (1 + abs(mass))

    def up_to(self, epsilon: float) -> Reals:
        """The values, computed past all orders of use at epsilon."""
        while self._end < len(GRID):
            with np.errstate(invalid="ignore"):
                found = self._values[: self._end] - GRID[: self._end] * epsilon
            if not _NOTHING < found[-1] < np.min(found) + _PAST:
                break
            self._compute(self._end, self._end + _STEP)
            self._end += _STEP
        return self._values

    def _compute(self, first: int, end: int) -> None:
        theta = GRID[first:end]
        with budget(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, error = self._measure.cumulant(theta)
        self._values[first:end] = np.where(np.isfinite(value + error), value + error, np.inf)


def cumulant_of(distribution: LossDistribution, theta: Reals) -> tuple[Reals, Reals]:
    """The distribution's cumulant, computed once for all measures that it is part of, and counted as work for each."""
    value, error, operations = _computed(distribution, theta.tobytes())
    charge(operations)
    return value, error


@lru_cache(_CACHE)
def _computed(distribution: LossDistribution, theta: bytes) -> tuple[Reals, Reals, int]:
    with budget():
        return *distribution.cumulant(np.frombuffer(theta)), spent()


def best_order(losses: Cumulant, objective_at: float, *, log_delta: bool) -> tuple[float, float]:
    """The theta at which Markov's inequality is best (for an epsilon or a ln delta), and what it gives, rounded up."""
    charge(_SEARCH)

    def values(theta: Reals, top: Reals) -> Reals:
        top = top + markov(theta) + 8 * U * (np.abs(top) + 1)
        found = (top - objective_at) / theta if log_delta else top - theta * objective_at
        return np.where(np.isfinite(found), found, np.inf)

    found = values(GRID, losses.on_grid(-np.inf if log_delta else objective_at))
    while log_delta:  # the best epsilon so far says how far orders may be of use
        least = float(found.min())
        found = values(GRID, losses.on_grid(least))
        if not found.min() < least:
            break
    best = int(np.argmin(found))
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)]
    theta = low * (high / low) ** _PARTS
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value, error = losses.cumulant(theta)
        found = values(theta, value + error)
    best = int(np.argmin(found))
    least = float(found[best])
    return float(theta[best]), least + abs(least) * 8 * U
