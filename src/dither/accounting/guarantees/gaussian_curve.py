"""The exact privacy curve of Gaussian noise.

delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu = D2/sigma,
necessary and sufficient in any dimension (Balle and Wang 2018, Theorem 8). Roots are found by Newton's method and then
*checked*: what is returned satisfies its inequality by ball arithmetic, whatever the search did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.conversion import COST_UNIT, epsilon_of_rho
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, float_down, float_up, sign
from dither.exact.precision import precision

LARGEST_EPSILON = Fraction(10**5)
# Up to here the curve itself is read; noise is not made for such figures.
LARGEST_READ = Fraction(10**12)

_CACHE = 1024
_SEARCH_BITS = 192
_SETTLED_BITS = 80
# How many neighbouring candidates are checked before a search counts as failed.
_TRIES = 8


def delta_ball(epsilon: Ball, mu: Ball) -> Ball:
    """The curve itself, on balls."""
    root_two = ball(2).sqrt()
    far, near = epsilon / mu + mu / 2, epsilon / mu - mu / 2
    return ((near / root_two).erfc() - epsilon.exp() * (far / root_two).erfc()) / 2


@lru_cache(_CACHE)
def delta_of_gaussian(mu_squared: Fraction, epsilon: Fraction) -> float:
    """The exact delta at epsilon, rounded up."""
    if mu_squared == 0:
        return 0.0
    at = min(epsilon, LARGEST_READ)  # delta falls with epsilon, so a smaller one is on the safe side
    _, high = bounds(lambda: delta_ball(ball(at), ball(mu_squared).sqrt()))
    return min(1.0, max(0.0, float_up(high)))


@lru_cache(_CACHE)
def epsilon_of_gaussian(mu_squared: Fraction, delta: Fraction) -> float:
    """The exact epsilon at delta, rounded up; infinity at delta 0 (Gaussian noise is never pure)."""
    if mu_squared == 0:
        return 0.0
    if delta == 0:
        return math.inf
    if mu_squared <= LARGEST_READ:
        if _holds(Fraction(0), mu_squared, delta):
            return 0.0
        checked = _checked_epsilon(_epsilon_near(mu_squared, delta), mu_squared, delta)
        if checked is not None:
            return checked
    return epsilon_of_rho(mu_squared / 2, delta)


@lru_cache(_CACHE)
def price_in_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """rho = mu^2/2 of the least noisy Gaussian that is (epsilon, delta)-DP, rounded down to whole cost units."""
    return _checked_rho(_mu_near(epsilon, delta) ** 2 / 2, epsilon, delta)


@lru_cache(_CACHE)
def epsilon_priced_at(rho: Fraction, delta: Fraction) -> Fraction:
    """The largest epsilon, rounded down to 1e-9, whose price in rho is at most `rho`."""
    unit = Fraction(1, 10**9)
    most = epsilon_of_gaussian(2 * rho, delta)
    # Prices are rounded down, so the epsilon one step above the exact root may still be paid for.
    epsilon = (math.floor(Fraction(most) / unit) + 1) * unit
    one_more = (math.floor(rho / COST_UNIT) + 1) * COST_UNIT
    while epsilon > 0 and _holds(epsilon, 2 * one_more, delta):  # then its price is one_more or higher
        epsilon -= unit
    return max(epsilon, Fraction(0))


@lru_cache(_CACHE)
def analytic_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The smallest sigma of 53 bits, rounded up, with which N(0, sigma^2) is (epsilon, delta)-DP at D2 = 1."""
    return _checked_sigma(1 / _mu_near(epsilon, delta), epsilon, delta)


@lru_cache(_CACHE)
def classical_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """sqrt(2 ln(1.25/delta))/epsilon, rounded up, for epsilon <= 1 only (Dwork and Roth 2014, Theorem A.1)."""
    if not epsilon <= 1:
        raise ParameterError(
            f"the classical calibration is proven for epsilon up to 1 only; got {float(epsilon):g}. "
            'Use calibration="analytic".'
        )
    _, high = bounds(lambda: ((ball(Fraction(5, 4)) / ball(delta)).log() * 2).sqrt() / ball(epsilon))
    return _checked_sigma(high, epsilon, delta)


def _checked_sigma(found: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The first sigma, from `found` upward, that certainly suffices."""
    sigma = dyadic_up(found)
    for _ in range(_TRIES):
        if _holds(epsilon, 1 / sigma**2, delta):
            return sigma
        sigma = dyadic_up(sigma * (1 + Fraction(1, 2**54)))
    raise ArithmeticError("no sigma could be certified")


def _checked_rho(found: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest whole number of cost units, near `found`, that certainly keeps (epsilon, delta)."""
    units = math.floor(found / COST_UNIT) + 1
    for _ in range(_TRIES):
        if units <= 0 or _holds(epsilon, 2 * units * COST_UNIT, delta):
            return max(units, 0) * COST_UNIT
        units -= 1
    raise ArithmeticError("no rho could be certified")


def _checked_epsilon(found: Fraction, mu_squared: Fraction, delta: Fraction) -> float | None:
    """An epsilon just above `found` that certainly holds; None if there is none so near."""
    for slack in (52, 48, 40, 20):
        candidate = float_up(found * (1 + Fraction(1, 2**slack)))
        if _holds(Fraction(candidate), mu_squared, delta):
            return candidate
    return None


def _holds(epsilon: Fraction, mu_squared: Fraction, delta: Fraction) -> bool:
    """Certainly delta(epsilon) <= delta."""
    return sign(lambda: delta_ball(ball(epsilon), ball(mu_squared).sqrt()) - ball(delta), undecided=1) < 0


def _tail_quantile(delta: Fraction) -> float:
    """A z with P[N(0,1) > z] <= delta, near enough to start from."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    return math.sqrt(max(0.0, -2 * (log_delta + math.log(2))))


@lru_cache(_CACHE)
def _mu_near(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The mu at which delta(epsilon) = delta, to about 80 bits, not certified."""
    if not epsilon <= LARGEST_EPSILON:
        raise ParameterError(f"epsilon must be at most {LARGEST_EPSILON} for Gaussian noise; got {float(epsilon):g}.")
    z, rough = _tail_quantile(delta), float(epsilon)
    # Both are left of the root: delta <= Phi(mu/2 - epsilon/mu), and delta <= delta(0) <= mu/sqrt(2 pi).
    start = max(2 * rough / (z + math.sqrt(z * z + 2 * rough)), float(delta) * math.sqrt(2 * math.pi))

    def newton(mu: Ball) -> Ball:
        value = delta_ball(ball(epsilon), mu)
        near = ball(epsilon) / mu - mu / 2
        slope = (-near * near / 2).exp() / (2 * ball(1).pi()).sqrt()
        return (ball(delta).log() - value.log()) * value / slope

    return _newton(newton, Fraction(start))


@lru_cache(_CACHE)
def _epsilon_near(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """The epsilon at which delta(epsilon) = delta, to about 80 bits, not certified."""
    mu = math.sqrt(mu_squared)

    def newton(epsilon: Ball) -> Ball:
        exact_mu = ball(mu_squared).sqrt()
        value = delta_ball(epsilon, exact_mu)
        far = (epsilon / exact_mu + exact_mu / 2) / ball(2).sqrt()
        slope = epsilon.exp() * far.erfc() / 2
        return (value.log() - ball(delta).log()) * value / slope

    return _newton(newton, Fraction(mu * _tail_quantile(delta) + mu * mu / 2))


def _newton(step: Callable[[Ball], Ball], start: Fraction) -> Fraction:
    """Follow the steps until they certainly no longer matter; every step starts from an exact point."""
    point = start
    for _ in range(80):
        with precision(_SEARCH_BITS):  # set again each time: other users of balls may have changed it
            here = ball(point).mid()
            change = step(here)
            if not change.is_finite():  # out of what these bits can tell
                break
            mantissa, exponent = (here + change).mid().man_exp()
            settled = abs(change) < abs(here) / 2**_SETTLED_BITS
        moved = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        point = moved if moved > 0 else point / 2
        if settled:
            break
    return point


def gaussian_epsilon_bounds(mu_squared: Fraction, delta: Fraction) -> tuple[float, float]:
    """Certified bounds of the epsilon of Gaussian noise at delta."""
    high = epsilon_of_gaussian(mu_squared, delta)
    if not math.isfinite(high) or high == 0:
        return high, high
    for bits in (40, 30, 20, 10):
        low = high * (1 - 2.0**-bits)
        if low <= LARGEST_READ and _above(Fraction(low), mu_squared, delta):
            return low, high
    return 0.0, high


def gaussian_delta_bounds(mu_squared: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Certified bounds of the delta of Gaussian noise at epsilon."""
    if mu_squared == 0 or epsilon > LARGEST_READ:
        return 0.0, delta_of_gaussian(mu_squared, epsilon)
    low, high = bounds(lambda: delta_ball(ball(epsilon), ball(mu_squared).sqrt()))
    return max(0.0, float_down(low)), min(1.0, max(0.0, float_up(high)))


def _above(epsilon: Fraction, mu_squared: Fraction, delta: Fraction) -> bool:
    """Certainly delta(epsilon) > delta."""
    return sign(lambda: delta_ball(ball(epsilon), ball(mu_squared).sqrt()) - ball(delta), undecided=-1) > 0
