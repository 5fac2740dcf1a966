"""From one kind of guarantee to another, every result rounded outward.

References: Bun and Steinke 2016 (zCDP), Canonne, Kamath and Steinke 2020, Proposition 12 (Renyi to approximate DP),
Kairouz, Oh and Viswanath 2015 (the worst pair behind an epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dither.exact.balls import Ball, ball, bounds, ceil_of, dyadic_up, float_up, floor_of
from dither.exact.parameters import LARGEST, SMALLEST, sqrt_down, sqrt_up

# Prices and caps are whole multiples of this unit, in epsilon and in rho.
COST_UNIT = Fraction(1, 10**15)

_CACHE = (
    1024  # numbers of prices that were asked for last, by whomever: some kilobytes at most, found again in milliseconds
)
# Past this epsilon, tanh(epsilon/2) is 1 to more digits than anything we return.
_SATURATED = 10**4


@lru_cache(_CACHE)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """rho = epsilon tanh(epsilon/2), rounded up: what pure DP implies, attained by randomised response."""
    if epsilon == 0 or epsilon > _SATURATED:
        return epsilon
    relative = ceil_of(lambda: (ball(epsilon) / 2).tanh() * 2**129 / ball(epsilon))
    return max(dyadic_up(relative * epsilon**2 / 2**129, 128), SMALLEST)


@lru_cache(_CACHE)
def epsilon_within_rho(epsilon: Fraction, rho: Fraction) -> Fraction:
    """An epsilon, rounded down, that is at most the given one and with which randomised response is rho-zCDP."""
    # x tanh(x/2) <= min(x, x^2/2), so both of these have it; the larger one is improved while it certainly keeps rho.
    low, high = min(epsilon, max(rho, sqrt_down(2 * rho))), min(epsilon, rho + sqrt_up(2 * rho))
    while high - low > high / 2**30:
        middle = dyadic_up((low + high) / 2, 40)
        low, high = (middle, high) if rho_of_pure(middle) <= rho else (low, middle)
    return low


@lru_cache(_CACHE)
def epsilon_of_pure(epsilon: Fraction, delta: Fraction) -> float:
    """The smallest e, rounded up, for which every epsilon-DP mechanism is (e, delta)-DP."""
    _, kept = bounds(lambda: 1 - ball(delta) - ball(delta) * (-ball(epsilon)).exp())
    if not 0 < kept < 1:
        return float_up(epsilon) if kept > 0 else 0.0
    _, lowered = bounds(lambda: ball(epsilon) + ball(kept).log())
    return max(0.0, float_up(lowered))


@lru_cache(_CACHE)
def delta_of_pure(epsilon: Fraction, at: Fraction) -> float:
    """The smallest delta, rounded up, for which every epsilon-DP mechanism is (at, delta)-DP."""
    if at >= epsilon:
        return 0.0
    _, delta = bounds(lambda: -(ball(at) - ball(epsilon)).expm1() / (1 + (-ball(epsilon)).exp()))
    return min(1.0, float_up(delta))


@lru_cache(_CACHE)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> float:
    """An epsilon, rounded up, with which rho-zCDP implies (epsilon, delta)-DP; rho, delta > 0.

    Every order gives a valid epsilon; the best one is looked for in floats and the result evaluated there with balls.
    """
    rough, log_delta = _rough(rho), _log(delta)

    def loose(excess: float) -> float:
        return rough * (1 + excess) - math.log1p(1 / excess) - (log_delta + math.log1p(excess)) / excess

    excess = _best_order(loose, math.sqrt(-log_delta / rough))

    def certified() -> Ball:
        b = ball(excess)
        return ball(rho) * (1 + b) - (1 / b).log1p() - (ball(delta).log() + b.log1p()) / b

    return max(0.0, float_up(bounds(certified)[1]))


@lru_cache(_CACHE)
def epsilon_units_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """`epsilon_of_rho` rounded up to whole cost units, so that shown figures are the same on every machine."""
    return math.ceil(Fraction(epsilon_of_rho(rho, delta)) / COST_UNIT) * COST_UNIT


@lru_cache(_CACHE)
def delta_of_rho(rho: Fraction, epsilon: Fraction) -> float:
    """A delta, rounded up, with which rho-zCDP implies (epsilon, delta)-DP."""
    if rho == 0:
        return 0.0
    rough, rough_epsilon = _rough(rho), float(epsilon)

    def loose(excess: float) -> float:
        order = 1 + excess
        return excess * (order * rough - rough_epsilon) - order * math.log1p(1 / excess) - math.log(excess)

    excess = _best_order(loose, max((rough_epsilon - rough) / (2 * rough), 0.05))

    def certified() -> Ball:
        b = ball(excess)
        return b * ((1 + b) * ball(rho) - ball(epsilon)) - (1 + b) * (1 / b).log1p() - b.log()

    _, exponent = bounds(certified)
    if exponent >= 0:
        return 1.0
    # Below e^-2000 no float is left to tell the difference.
    _, delta = bounds(lambda: ball(max(exponent, Fraction(-2000))).exp())
    return float_up(delta)


@lru_cache(_CACHE)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down to whole cost units, with which rho-zCDP implies (epsilon, delta)-DP."""
    rough, log_delta = float(epsilon), _log(delta)

    def loose(excess: float) -> float:
        return -(rough + math.log1p(1 / excess) + (log_delta + math.log1p(excess)) / excess) / (1 + excess)

    simple = (math.sqrt(rough - log_delta) - math.sqrt(-log_delta)) ** 2
    excess = _best_order(loose, math.sqrt(-log_delta / simple))

    def certified() -> Ball:
        b = ball(excess)
        rho = (ball(epsilon) + (1 / b).log1p() + (ball(delta).log() + b.log1p()) / b) / (1 + b)
        return rho / ball(COST_UNIT)

    return max(0, floor_of(certified)) * COST_UNIT


@lru_cache(_CACHE)
def rho_of_discrete_laplace(epsilon: Fraction, steps: int) -> Fraction:
    """The exact rho, rounded up, of discrete Laplace noise of scale steps/epsilon under an L1 shift of at most `steps`.

    rho = epsilon - (epsilon/steps) (1 - e^-epsilon) / sinh(epsilon/steps), the Kullback-Leibler divergence of the
    largest shift; docs/proofs/laplace.md shows that no order and no smaller or spread-out shift is worse.
    """
    if epsilon > _SATURATED:
        return epsilon
    general = rho_of_pure(epsilon)

    def certified() -> Ball:
        step = ball(epsilon) / steps
        return (ball(epsilon) + (-ball(epsilon)).expm1() * step / step.sinh()) * 2**96 / ball(general)

    return min(general, dyadic_up(Fraction(ceil_of(certified), 2**96) * general, 128))


def _rough(value: Fraction) -> float:
    """A float to look for an order with; any will do."""
    return float(min(max(value, SMALLEST), LARGEST))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _best_order(objective: Callable[[float], float], start: float) -> Fraction:
    """order - 1 near `start` that minimises the objective: golden section on a logarithmic scale.

    Rounded to 24 bits: the optimum is flat, and a last-bit difference of some machine's logarithm must not show.
    """
    ratio = (math.sqrt(5) - 1) / 2
    middle = math.log(min(max(start, 1e-150), 1e150))
    low, high = middle - 8, middle + 8
    inner, outer = high - ratio * (high - low), low + ratio * (high - low)
    at_inner, at_outer = objective(math.exp(inner)), objective(math.exp(outer))
    for _ in range(45):
        if at_inner < at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - ratio * (high - low)
            at_inner = objective(math.exp(inner))
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + ratio * (high - low)
            at_outer = objective(math.exp(outer))
    mantissa, exponent = math.frexp(math.exp((low + high) / 2))
    return Fraction(round(mantissa * 2**24)) * Fraction(2) ** (exponent - 24)
