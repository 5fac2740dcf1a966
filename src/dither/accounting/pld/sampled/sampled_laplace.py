"""Laplace noise on a secret sample: the worst pair is the noise against a mixture with its shifted copy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Reals
from dither.accounting.pld.sampled.sampled_noise import SampledNoise
from dither.exact.balls import ball, bounds, dyadic_up


@lru_cache(32)
def subsampled_laplace_distribution(epsilon: Fraction, rate: Fraction) -> SampledLaplace:
    """Sampling with probability `rate`, then continuous Laplace noise of scale D/epsilon at L1 sensitivity D."""
    return SampledLaplace(rate, start=-float(epsilon), end=float(epsilon), epsilon=epsilon)


@dataclass(frozen=True)
class SampledLaplace(SampledNoise):
    """Outcomes are losses without sampling, x = u: atoms at -epsilon and epsilon, e^(-(x + epsilon)/2)/4 between."""

    epsilon: Fraction = Fraction(1)

    @cached_property
    def stated_epsilon(self) -> Fraction:
        """ln(1 - q + q e^epsilon), rounded up; losses of an added record are smaller."""
        _, high = bounds(lambda: (ball(self.rate) * ball(self.epsilon).expm1()).log1p())
        return dyadic_up(high)

    @property
    def variation(self) -> float:
        """That of the noise times the rate."""
        return float(self.rate) * -math.expm1(-float(self.epsilon) / 2) * (1 + 1e-12)

    @property
    def certain_top(self) -> Fraction:
        loss, wrong = self._loss(np.array([self.start if self.added else self.end]))
        return Fraction(float((-loss if self.added else loss)[0] - wrong[0]))

    @property
    def log_top_mass(self) -> float:
        """The atom at the end: half of the noise for an added record, of the mixture e^(L - epsilon)/2 otherwise."""
        epsilon = float(self.epsilon)
        if (self.start if self.added else -self.end) != -epsilon:
            return -math.inf
        exponent = 0.0 if self.added else float(self.certain_top) - epsilon
        return exponent - math.log(2) - 4 * FUNCTION * (1 + epsilon)

    def _straight(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _log_density(self, x: Reals) -> Reals:
        density: Reals = -(x + float(self.epsilon)) / 2 - math.log(4)
        return density

    def _log_peak(self, left: Reals, right: Reals, across: Reals | float = 0.0) -> Reals:
        return self._log_density(left)

    def _log_tails(self, x: float) -> tuple[float, float]:
        epsilon = float(self.epsilon)
        if x >= epsilon:
            return -math.inf, -math.inf
        plain = -(max(x, -epsilon) + epsilon) / 2 - math.log(2) if x >= -epsilon else 0.0
        moved = math.log1p(-math.exp((x - epsilon) / 2) / 2) if x >= -epsilon else 0.0
        return plain + 1e-9, moved + 1e-9

    def _atoms(self) -> tuple[Reals, Reals]:
        epsilon = float(self.epsilon)
        ends = [(-epsilon, -math.log(2)), (epsilon, -epsilon - math.log(2))]
        kept = [(x, log_mass) for x, log_mass in ends if self.start <= x <= self.end]
        return np.array([x for x, _ in kept]), np.array([log_mass for _, log_mass in kept])
