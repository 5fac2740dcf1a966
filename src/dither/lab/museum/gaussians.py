"""Gaussian noise with a sigma that was calibrated for something else, and deltas read off single outcomes."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

from dither import divergence
from dither.accounting import GDP
from dither.exact.balls import ball, bounds, float_down
from dither.lab.museum.exhibit import Finding, Reckoning
from dither.mechanisms import Gaussian
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution

_CALIBRATED = Gaussian(epsilon=8, delta="1e-6", sensitivity=1)


def discrete_with_the_analytic_sigma() -> Finding:
    """delta(8) = P[X > 8 sigma^2 - 1/2] - e^8 P[X > 8 sigma^2 + 1/2], over the discrete distribution."""
    variance = _CALIBRATED.sigma_steps**2
    distribution, edge = DiscreteGaussianDistribution(variance), 8 * variance
    near, far = math.floor(edge - Fraction(1, 2)), math.floor(edge + Fraction(1, 2))
    low, _ = bounds(lambda: distribution.tail(near) - ball(8).exp() * distribution.tail(far))
    return Finding(claimed=1e-6, found=float_down(low))


def rounded_with_the_analytic_sigma() -> Finding:
    here, there = (divergence.distribution(_CALIBRATED, value, lower=-5, upper=6, bits=512) for value in (0, 1))
    return Finding(claimed=1e-6, found=divergence.hockey_stick([*here.values()], [*there.values()], 8).lower)


def _delta_at_twenty(sigma: float) -> Finding:
    return Finding(claimed=1e-5, found=GDP(1 / Fraction(sigma)).bounds_at(epsilon=20)[0])


def textbook_sigma_at_epsilon_twenty() -> Finding:
    return _delta_at_twenty(math.sqrt(2 * math.log(2 / 1e-5)) / 20)


def analytic_sigma_at_epsilon_twenty() -> Finding:
    return _delta_at_twenty(float(Gaussian(epsilon=20, delta="1e-5", sensitivity=1, grid="1e-6").scale))


# Uniform on ten outcomes, against 1/100 on each of them and the rest elsewhere; delta is 1/10.
_P: dict[Hashable, Fraction] = dict.fromkeys(range(10), Fraction(1, 10))
_Q: dict[Hashable, Fraction] = {**dict.fromkeys(range(10), Fraction(1, 100)), "elsewhere": Fraction(9, 10)}


def over_single_outcomes() -> Finding:
    above = [math.log((p - Fraction(1, 10)) / _Q[outcome]) for outcome, p in _P.items() if p > Fraction(1, 10)]
    return Finding(claimed=max(above, default=0.0), found=_over_sets())


def over_sets_of_outcomes() -> Finding:
    return Finding(claimed=divergence.approximate_max(_P, _Q, "0.1").upper, found=_over_sets())


def _over_sets() -> float:
    """The set of all ten: ln((1 - 1/10)/(10/100)) = ln 9."""
    return math.log(9) * (1 - 1e-12)


EXHIBITS = (
    Reckoning(
        "the discrete Gaussian with the analytic sigma",
        "sigma was calibrated for continuous Gaussian noise and used for the discrete Gaussian, whose tail "
        "differs: the true delta is three times the claim. Rounded continuous noise may use it.",
        "written for the museum; the exact delta of the discrete Gaussian is that of Canonne, Kamath and Steinke 2020",
        "delta at epsilon 8",
        discrete_with_the_analytic_sigma,
        rounded_with_the_analytic_sigma,
    ),
    Reckoning(
        "the textbook's sigma at a large epsilon",
        "sqrt(2 ln(2/delta))/epsilon is proven for epsilon up to 1. At epsilon 20 its true delta is a hundred "
        "times the claim.",
        "the analytic sigma is that of Balle and Wang, ICML 2018, who show that the classical one cannot be extended",
        "delta at epsilon 20",
        textbook_sigma_at_epsilon_twenty,
        analytic_sigma_at_epsilon_twenty,
    ),
    Reckoning(
        "delta read off single outcomes",
        "Ten outcomes each have probability 1/10 here and 1/100 there. With delta = 1/10 none of them shows "
        "anything by itself; the ten together show ln 9.",
        "a slip in lecture notes: delta-approximate divergence is a maximum over sets",
        "epsilon at delta 0.1",
        over_single_outcomes,
        over_sets_of_outcomes,
    ),
)
