"""Noise on a secret sample when one record is replaced by another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.accounting.pld.distribution import Complexes, LossDistribution, Reals
from dither.accounting.pld.sampled.sampled_noise import SampledNoise

_HALF_KNOWN = 4e-12  # relative error of the mass of what says nothing


@dataclass(frozen=True)
class ReplacedRecord(LossDistribution):
    """Losses above 0 are those of a removed record, losses below 0 those of an added one; the rest says nothing.

    Both where the shifted copy of the noise is likelier than the noise. So the distribution is its own mirror image.
    """

    removed: SampledNoise
    added: SampledNoise

    lost = Fraction(0)

    @staticmethod
    def of(distribution: SampledNoise) -> ReplacedRecord:
        """From the distribution of the same noise for a removed record."""
        scale, shift = distribution._straight()
        half = distribution.within(scale * shift, distribution.end)
        return ReplacedRecord(half, replace(half, added=True))

    @property
    def unread(self) -> Fraction:
        return self.removed.unread

    @property
    def easy_orders(self) -> float:
        return min(self.removed.easy_orders, self.added.easy_orders)

    @property
    def top(self) -> float:
        return self.removed.top

    @property
    def stated_epsilon(self) -> Fraction | None:
        return self.removed.stated_epsilon

    @property
    def certain_top(self) -> Fraction:
        return self.removed.certain_top

    @property
    def log_top_mass(self) -> float:
        return self.removed.log_top_mass

    @property
    def variation(self) -> float:
        return self.removed.variation

    @property
    def log_affinity(self) -> float:
        return float(np.logaddexp(self.removed.log_affinity + math.log(2), self._log_silent)) + 1e-11

    @property
    def _log_silent(self) -> float:
        """ln of the mass of outcomes that say nothing: 1 - q times the total variation of the noise."""
        return math.log(self.removed.variation / float(self.removed.rate)) + math.log(1 - self.removed.rate)

    def optimistic(self) -> LossDistribution:
        return replace(self, removed=replace(self.removed, certain=True))

    def trimmed(self, log_mass: float) -> LossDistribution:
        kept = self.removed.trimmed(log_mass)
        return self if kept is self.removed else replace(self, removed=kept)

    def parted(self, theta: float) -> tuple[LossDistribution, LossDistribution, float] | None:
        border = self.removed.border_at(theta)
        if border is None:
            return None
        low, high, mass = self.removed.parts(border)
        return replace(self, removed=low), high, mass

    def log_moments(self, theta: Reals) -> Reals:
        # Above 1 the profile is that of a removed record, below 1 that of an added one: the excesses over 1 add up.
        whole = replace(self.removed, start=-self.removed.end)
        with np.errstate(over="ignore"):
            both = [whole.log_moments(theta), replace(whole, added=True).log_moments(theta)]
            found = np.where(both[0] < 1, np.log1p(np.expm1(both[0]) + np.expm1(both[1])), np.logaddexp(*both)) + 1e-25
        near = self.removed.reads_all(theta) & self.added.reads_all(theta)
        if near.any():
            found[near] = np.minimum(found[near], super().log_moments(theta[near]) + 1e-25)
        return found

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        (large, wrong), (small, off) = self.removed.cumulant(theta), self.added.cumulant(theta)
        value = np.logaddexp(np.logaddexp(large, small), self._log_silent)
        return value, wrong + off + _HALF_KNOWN

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        at = np.array([theta])
        total, doubt = self.cumulant(at)
        value = np.full(len(times), math.exp(self._log_silent - float(total[0])), dtype=complex)
        error = np.full(len(times), 4 * float(doubt[0]))
        for part in (self.removed, self.added):
            share = math.exp(float((part.cumulant(at)[0] - total)[0]))
            own, wrong = part.ratio(theta, times)
            value, error = value + share * own, error + share * wrong
        return value, error
