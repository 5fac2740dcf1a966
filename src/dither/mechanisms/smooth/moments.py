"""Moments of the noises that follow a smooth sensitivity, in units of it: public, as it is not."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.exact.balls import Ball, ball, bounds, float_up
from dither.noise.reals.cauchy import GeneralisedCauchy
from dither.noise.reals.gaussian import RealGaussian
from dither.noise.reals.laplace import RealLaplace
from dither.noise.reals.laplace_log_normal import LaplaceLogNormal
from dither.noise.reals.lomax import Lomax
from dither.noise.reals.rounded_reals import RealDistribution
from dither.noise.reals.student_t import StudentT


def absolute_moment(distribution: RealDistribution, order: int) -> float:
    """E|eta|^order, rounded up; infinity where the tails are too heavy for it."""
    if isinstance(distribution, Lomax):
        return float_up(_lomax(distribution.shape, order)) if distribution.shape > order + 1 else math.inf
    if isinstance(distribution, RealLaplace):
        return float_up(Fraction(math.factorial(order)))
    if isinstance(distribution, StudentT) and distribution.degrees > order:
        return float_up(bounds(lambda: _student(distribution.degrees, order))[1])
    if isinstance(distribution, GeneralisedCauchy) and distribution.gamma > order + 1:
        return float_up(bounds(lambda: _pi_over(distribution.gamma) / _pi_over(distribution.gamma, order + 1))[1])
    if isinstance(distribution, RealGaussian):
        return float_up(bounds(lambda: ball(2) ** ball(Fraction(order, 2)) * _gammas(order))[1])
    if isinstance(distribution, LaplaceLogNormal):
        return float_up(bounds(lambda: math.factorial(order) * (ball(order**2 * distribution.sigma**2) / 2).exp())[1])
    return math.inf


def _lomax(shape: Fraction, order: int) -> Fraction:
    """order! / ((a-2)(a-3)...(a-1-order))."""
    return math.factorial(order) / math.prod((shape - 1 - k for k in range(1, order + 1)), start=Fraction(1))


def _student(degrees: Fraction, order: int) -> Ball:
    """d^(p/2) Gamma((p+1)/2) Gamma((d-p)/2) / (sqrt pi Gamma(d/2))."""
    half = ball(degrees / 2)
    return (
        ball(degrees) ** ball(Fraction(order, 2)) * _gammas(order) * ball((degrees - order) / 2).gamma() / half.gamma()
    )


def _gammas(order: int) -> Ball:
    """Gamma((p+1)/2) / sqrt pi."""
    return ball(Fraction(order + 1, 2)).gamma() / ball(Fraction(1, 2)).gamma()


def _pi_over(gamma: Fraction, times: int = 1) -> Ball:
    """sin(times pi / gamma)."""
    return ball(times / gamma).sin_pi()
