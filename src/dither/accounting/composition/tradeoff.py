"""Trade-off functions: how often a test must miss that a record is there, if it seldom says so wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, float_down
from dither.exact.parameters import Number, exact

_STEPS = 28
_FURTHEST = 500.0
_LIGHTEST = Fraction(1, 10**300)


def tradeoff(guarantee: Guarantee, alpha: Number) -> float:
    """At least f(alpha), rounded down: the smallest type II error of a test of type I error `alpha`.

    (epsilon, delta)-DP for one epsilon >= 0 says f(a) >= max(1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)); the
    best epsilon is looked for, and every one is valid. Gaussian noise has the closed form
    Phi(Phi^-1(1 - a) - mu) (Dong, Roth and Su 2022).
    """
    level = exact(alpha, "alpha")
    if not 0 <= level <= 1:
        raise ParameterError(f"alpha is the probability of a false alarm, between 0 and 1; got {float(level):g}.")
    if level == 1:
        return 0.0
    if guarantee.gaussian_mu_squared is not None:
        return _gaussian(guarantee.gaussian_mu_squared, level)

    def steep(epsilon: float) -> Fraction:
        delta = Fraction(guarantee.delta_at(Fraction(epsilon)))
        return 1 - delta - (bounds(lambda: ball(Fraction(epsilon)).exp())[1] * level if level else 0)

    def flat(epsilon: float) -> Fraction:
        rest = 1 - Fraction(guarantee.delta_at(Fraction(epsilon))) - level
        return bounds(lambda: (-ball(Fraction(epsilon))).exp())[0] * rest

    known = _stated(guarantee)
    furthest = min(_FURTHEST, known) if known is not None else _FURTHEST
    ends = [-math.log(level) if level > _LIGHTEST else furthest, _reach(guarantee, 1 - level)]
    found = [Fraction(0), steep(0.0)]
    for read, end in zip((steep, flat), ends, strict=True):
        top = min(furthest, max(end, 1e-9))
        found += [_highest(read, top), read(furthest if known is not None else top)]
    return float_down(max(found))


def _stated(guarantee: Guarantee) -> float | None:
    """The epsilon at which delta is as small as it gets, if there is one: no larger one says more."""
    try:
        epsilon = guarantee.basic().epsilon
    except ParameterError:
        return None
    return float(epsilon) if Fraction(float(epsilon)) >= epsilon else math.nextafter(float(epsilon), math.inf)


def _reach(guarantee: Guarantee, rest: Fraction) -> float:
    found = guarantee.epsilon_at(min(max(rest / 1000, _LIGHTEST), Fraction(1, 2)))
    return found if math.isfinite(found) else _FURTHEST


def _highest(read: Callable[[float], Fraction], end: float) -> Fraction:
    """The largest value found by golden section: both forms rise and then fall in epsilon."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = 0.0, end
    one, two = high - ratio * (high - low), low + ratio * (high - low)
    at_one, at_two = read(one), read(two)
    best = max(at_one, at_two)
    for _ in range(_STEPS):
        if at_one >= at_two:
            high, two, at_two = two, one, at_one
            one = high - ratio * (high - low)
            at_one = read(one)
        else:
            low, one, at_one = one, two, at_two
            two = low + ratio * (high - low)
            at_two = read(two)
        best = max(best, at_one, at_two)
    return best


def _gaussian(mu_squared: Fraction, level: Fraction) -> float:
    if not level:
        return 0.0 if mu_squared > 10**8 else 1.0
    low, _ = bounds(lambda: (ball(mu_squared).sqrt() / ball(2).sqrt() - (2 * ball(level)).erfcinv()).erfc() / 2)
    return max(0.0, float_down(low))
