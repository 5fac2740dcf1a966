"""Gaussian noise on a secret sample: the worst pair is N(0, s^2) against a mixture with N(1, s^2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dither.accounting.pld.distribution import Reals
from dither.accounting.pld.sampled.panels import reach
from dither.accounting.pld.sampled.sampled_noise import SampledNoise

_REACH = 40.0  # beyond it lie less than 1e-349 of the mass of N(0, 1)
_FARTHEST = 3e3  # for orders that reach further, simpler bounds will do
_BEYOND = Fraction(1, 10**348)
_LOG_ROOT = math.log(2 * math.pi) / 2


@lru_cache(32)
def subsampled_gaussian_distribution(sigma: Fraction, rate: Fraction) -> SampledGaussian:
    """Poisson sampling with probability `rate`, then N(0, sigma^2) at sensitivity 1; add or remove one record.

    Removing compares (1-q) N(0) + q N(1) with N(0), adding the reverse (Zhu, Dong and Wang 2022, Theorem 11).
    """
    # The mixture reaches further by the shift.
    return SampledGaussian(rate, start=-_REACH, end=_REACH + 1 / float(sigma), sigma=sigma)


@dataclass(frozen=True)
class SampledGaussian(SampledNoise):
    """Outcomes in units of sigma: u(x) = x/sigma - 1/(2 sigma^2)."""

    sigma: Fraction = Fraction(1)

    @property
    def unread(self) -> Fraction:
        return Fraction(0) if self.certain else _BEYOND

    @property
    def variation(self) -> float:
        """That of the noise times the rate."""
        return float(self.rate) * math.erf(1 / (math.sqrt(8) * float(self.sigma))) * (1 + 1e-12)

    def log_moments(self, theta: Reals) -> Reals:
        variance = float(self.sigma) ** 2
        if self.added:  # w is at least 1 - q
            found = -theta * math.log(1 - self.rate) * (1 + 1e-15)
        else:  # and quasi-convex: no more than without sampling
            found = theta * (theta + 1) / (2 * variance) * (1 + 1e-15)
        near, border = self.reads_all(theta), self._border(theta)
        if near.any():
            found[near] = np.minimum(found[near], super().log_moments(theta[near]) + 1e-25)
        for n in np.flatnonzero(~near & (border < _FARTHEST)):
            start, end = (-float(border[n]), self.end) if self.added else (self.start, float(border[n]))
            wide = replace(self, start=start, end=end)
            found[n] = min(found[n], SampledNoise.log_moments(wide, theta[n : n + 1])[0] + 1e-25)
        return found

    def reads_all(self, theta: Reals) -> npt.NDArray[np.bool_]:
        return self._border(theta) <= _REACH

    def _border(self, theta: Reals) -> Reals:
        """Beyond it all outcomes together weigh less than e^-60 of the others."""
        sigma, rate = float(self.sigma), float(self.rate)
        if self.added:  # w >= e^(qu), so the order of the noise is at most theta q
            order, unlikely = theta * rate, (theta * rate) * (1 + theta * rate) / (2 * sigma * sigma)
        else:  # w^a <= 1 - q + q e^(au), and w^a >= q^a e^(au)
            order, unlikely = theta + 1, -(theta + 1) * math.log(rate)
        border: Reals = order / sigma + np.sqrt(2 * (60 + unlikely)) + 2
        return border

    def trimmed(self, log_mass: float) -> SampledGaussian:
        half = log_mass - math.log(2)
        return self.within(-reach(half, _log_tail), reach(half, self._log_tail))

    def _straight(self) -> tuple[float, float]:
        sigma = float(self.sigma)
        return sigma, 1 / (2 * sigma * sigma)

    def _log_density(self, x: Reals) -> Reals:
        return -x * x / 2 - _LOG_ROOT

    def _log_peak(self, left: Reals, right: Reals, across: Reals | float = 0.0) -> Reals:
        nearest = np.where(left * right < 0, 0.0, np.minimum(np.abs(left), np.abs(right)))
        peak: Reals = (across * across - nearest * nearest) / 2 - _LOG_ROOT
        return peak

    def _log_tails(self, x: float) -> tuple[float, float]:
        return _log_tail(x), _log_tail(x - 1 / float(self.sigma))


def _log_tail(x: float) -> float:
    """At least ln P[N(0, 1) > x]; far out by Komatsu's bound of Mills' ratio, 4/(3x + sqrt(x^2 + 8))."""
    if x < 5:
        return math.log(math.erfc(x / math.sqrt(2)) / 2) + 1e-9
    return -x * x / 2 - _LOG_ROOT + math.log(4 / (3 * x + math.sqrt(x * x + 8))) + 1e-9
