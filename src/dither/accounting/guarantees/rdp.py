"""Renyi differential privacy, over a continuum of orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dither.accounting.guarantees.guarantee import Guarantee, read_delta, read_order
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import Number, exact, non_negative
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.accounting.pld.distribution import Reals

Curve = Callable[[float], float]
_GRID = np.logspace(-8, 18, 118)


@dataclass(frozen=True, init=False, repr=False)
class RDP(Guarantee):
    """For all neighbours and all orders a > 1 the Renyi divergence is at most curve(a), apart from `delta`.

    Give a function that bounds the divergence at any order (rounded up by its author), or a table {order: bound}, which
    is read at the next order listed: Renyi divergence never falls with its order. `RDP.of(guarantee)` knows
    the curves of the other guarantees.

    >>> round(RDP({2: "0.2", 10: 1, 20: 2}).epsilon_at("1e-5"), 3)
    1.919
    >>> from dither.accounting import GDP
    >>> round(RDP.of(GDP(1)).renyi(3), 12)
    1.5
    """

    curve: Curve
    delta: Fraction
    relation: Relation
    _log_moments: Callable[[Reals], Reals] | None = field(compare=False, repr=False)

    def __init__(
        self,
        curve: Curve | Mapping[Number, Number],
        delta: Number = 0,
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        log_moments: Callable[[Reals], Reals] | None = None,
    ) -> None:
        self._keep(
            _log_moments=log_moments,
            curve=_table(curve) if isinstance(curve, Mapping) else curve,
            delta=read_delta(delta),
            relation=Relation.read(relation),
        )

    @classmethod
    def of(cls, guarantee: Guarantee) -> RDP:
        """The Renyi curve that follows from another guarantee, with its additive delta."""
        delta = additive_delta(guarantee)
        return cls(guarantee.renyi, delta, guarantee.relation, log_moments=guarantee.log_moments)

    def renyi(self, order: float) -> float:
        value = float(self.curve(read_order(order)))
        if not value >= 0:
            raise ParameterError(f"a Renyi divergence is 0 or more; the curve gives {value} at order {float(order):g}.")
        return value

    def log_moments(self, theta: Reals) -> Reals:
        if self._log_moments is not None:  # all orders at once, for curves that are known that way
            return self._log_moments(theta)
        return np.array([t * self.renyi(1 + t) * (1 + 4e-16) for t in theta.tolist()])

    def _epsilon_at(self, delta: Number) -> float:
        return renyi_epsilon(self.log_moments, read_delta(delta) - self.delta)

    def _delta_at(self, epsilon: Number) -> float:
        return renyi_delta(self.log_moments, non_negative(epsilon, "epsilon"), self.delta)

    def zcdp(self) -> NoReturn:
        raise ParameterError("a Renyi curve has no single rho; state a ZCDP guarantee, or compose Renyi curves.")

    def basic(self) -> NoReturn:
        raise ParameterError("a Renyi curve has no single epsilon and delta to add up; read it at a delta.")


def additive_delta(guarantee: Guarantee) -> Fraction:
    """The probability that lies outside the Renyi curve of a guarantee."""
    from dither.accounting.pld.pld import PLD

    if isinstance(guarantee, RDP):
        return guarantee.delta
    return guarantee.additive_delta() if isinstance(guarantee, PLD) else guarantee.zcdp().delta


def renyi_epsilon(log_moments: Callable[[Reals], Reals], delta: Fraction) -> float:
    """The best epsilon, rounded up, over a continuum of orders; infinity if no delta is left to convert with."""
    if delta <= 0:
        return 0.0 if delta == 0 and log_moments(np.array([1.0]))[0] == 0 else math.inf
    theta = _search(log_moments, lambda t: (_markov(t) - _log(delta)) / t, lambda t: t)
    moment = Fraction(float(log_moments(np.array([theta]))[0]))
    if not moment:
        return 0.0
    at = Fraction(theta)
    _, high = bounds(lambda: (ball(moment) + _markov_ball(at) - ball(delta).log()) / ball(at))
    return max(0.0, float_up(high))


def renyi_delta(log_moments: Callable[[Reals], Reals], epsilon: Fraction, additive: Fraction) -> float:
    """The best delta, rounded up, over a continuum of orders."""
    near = float(epsilon)
    theta = _search(log_moments, lambda t: _markov(t) - t * near, lambda t: np.ones_like(t))
    moment = Fraction(float(log_moments(np.array([theta]))[0]))
    if not moment:
        return float_up(additive)
    at = Fraction(theta)
    _, high = bounds(lambda: ball(moment) + _markov_ball(at) - ball(at * epsilon))
    if high >= 0:
        return 1.0
    _, delta = bounds(lambda: ball(max(high, Fraction(-2000))).exp())
    return min(1.0, float_up(additive + delta))


def _search(
    log_moments: Callable[[Reals], Reals], rest: Callable[[Reals], Reals], scale: Callable[[Reals], Reals]
) -> float:
    """The order (less 1) with the lowest log_moments/scale + rest: a coarse grid, then two finer ones."""
    grid = _GRID
    for _ in range(4):
        with np.errstate(over="ignore", invalid="ignore"):
            value = log_moments(grid) / scale(grid) + rest(grid)
        best = int(np.argmin(np.where(np.isfinite(value), value, np.inf)))
        found = float(grid[best])
        grid = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 17)
    return found


def _markov(theta: Reals) -> Reals:
    return -(1 + theta) * np.log1p(1 / theta) - np.log(theta)


def _markov_ball(theta: Fraction) -> Ball:
    t = ball(theta)
    return -(1 + t) * (1 / t).log1p() - t.log()


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _table(points: Mapping[Number, Number]) -> Curve:
    known = sorted((exact(order, "order"), non_negative(value, "the divergence")) for order, value in points.items())
    if not known or not known[0][0] > 1:
        raise ParameterError("a table of Renyi divergences needs at least one order, and orders are greater than 1.")

    def read(order: float) -> float:
        return next((float_up(value) for listed, value in known if listed >= order), math.inf)

    return read
