"""The exact curve of one release of Gaussian noise on a Poisson sample, in balls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.pld.crossing import least_above, most_below
from dither.accounting.pld.distribution import U
from dither.exact.balls import Ball, ball, bounds, float_down, float_up

_FIRST = 2.0**-60
_LARGEST = 10.0**5


def sampled_delta(sigma: Fraction, rate: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Bounds of delta at epsilon: the larger of that for a removed and for an added record."""
    removed, added = _delta(sigma, rate, epsilon, added=False), _delta(sigma, rate, epsilon, added=True)
    return float_down(max(removed[0], added[0])), min(1.0, float_up(max(removed[1], added[1])))


def sampled_epsilon(sigma: Fraction, rate: Fraction, delta: Fraction) -> tuple[float, float] | None:
    """Bounds of the epsilon at which delta is reached; None if it is out of reach of this search."""
    if not delta:
        return None
    low, high = 0.0, 0.0
    for added in (False, True):
        curve = _Curve(sigma, rate, added)
        smallest, largest = _log(delta)
        start = _FIRST
        while curve.log_above(start) > smallest:
            start *= 2
            if start > _LARGEST:
                return None
        high = max(high, least_above(curve, smallest, start))
        low = max(low, most_below(curve, largest, start))
    return low, high


@dataclass(frozen=True)
class _Curve:
    """Certified readings of one order of the pair."""

    sigma: Fraction
    rate: Fraction
    added: bool
    theta: float = 1e6  # no slope is known in advance: the first steps are short, then twice as far
    close: float = 2.0**-42

    def log_above(self, epsilon: float) -> float:
        high = _delta(self.sigma, self.rate, Fraction(epsilon), added=self.added)[1]
        return _log(high)[1] if high > 0 else -math.inf

    def log_below(self, epsilon: float) -> float:
        low = _delta(self.sigma, self.rate, Fraction(epsilon), added=self.added)[0]
        return _log(low)[0] if low > 0 else -math.inf


def _delta(sigma: Fraction, rate: Fraction, epsilon: Fraction, *, added: bool) -> tuple[Fraction, Fraction]:
    """The best test asks on which side of the noise the loss is epsilon."""
    if added:
        low, high = bounds(lambda: (-ball(epsilon)).exp() - 1 + ball(rate)) if epsilon else (rate, rate)
        if high <= 0:
            return Fraction(0), Fraction(0)
        if low <= 0:
            return Fraction(0), high  # the loss is at most ln(1/(1-q)), which is at most high/(1-q) above epsilon
        found = bounds(lambda: _added(sigma, rate, epsilon))
    else:
        found = bounds(lambda: _removed(sigma, rate, epsilon))
    return max(found[0], Fraction(0)), max(found[1], Fraction(0))


def _removed(sigma: Fraction, rate: Fraction, epsilon: Fraction) -> Ball:
    grown = ball(epsilon).expm1() if epsilon else ball(0)
    border = ball(sigma) * ((grown + ball(rate)) / ball(rate)).log() + 1 / (2 * ball(sigma))
    return ball(rate) * _tail(border - 1 / ball(sigma)) - (grown + ball(rate)) * _tail(border)


def _added(sigma: Fraction, rate: Fraction, epsilon: Fraction) -> Ball:
    fallen = (-ball(epsilon)).expm1() if epsilon else ball(0)
    border = ball(sigma) * ((fallen + ball(rate)) / ball(rate)).log() + 1 / (2 * ball(sigma))
    # N(0) below the border against the mixture, by e^epsilon
    inside = (fallen + ball(rate)) * _tail(-border) - ball(rate) * _tail(1 / ball(sigma) - border)
    return ball(epsilon).exp() * inside


def _tail(x: Ball) -> Ball:
    return (x / ball(2).sqrt()).erfc() / 2


def _log(value: Fraction) -> tuple[float, float]:
    parts = math.log(value.numerator), math.log(value.denominator)
    slack = 8 * U * (abs(parts[0]) + abs(parts[1]) + 1)
    return parts[0] - parts[1] - slack, parts[0] - parts[1] + slack
