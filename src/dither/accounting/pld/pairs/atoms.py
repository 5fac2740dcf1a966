"""Distributions with finitely many losses, from exact probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.pld.distribution import FUNCTION, Complexes, ExactAtoms, LossDistribution, Reals, U
from dither.accounting.pld.pairs.either_order import either_order
from dither.accounting.pld.points import Points, valley
from dither.exact.balls import Ball, ball, bounds, zero_to

_REACH = 40  # in sigma; beyond it lies less than 1e-340 of the mass
_BEYOND = Fraction(1, 10**340)


@dataclass(frozen=True, eq=False)
class Atoms(LossDistribution):
    """A distribution by its points: pessimistic and optimistic ones, for both orders of the pair."""

    points: Points
    lower_points: Points
    lost: Fraction
    lower_lost: Fraction
    reverse: Atoms | None = None
    slack: float = 0.0  # how far the largest loss may be off
    pair: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None = None  # where each release may go either way
    unread: Fraction = Fraction(0)
    ratios: tuple[tuple[Fraction, Fraction], ...] = ()  # e^loss and mass exactly, where both are known and no bounds

    @property
    def symmetric(self) -> bool:
        return self.reverse is None

    @property
    def top(self) -> float:
        if not len(self.points.losses):
            return -math.inf
        return float(self.points.losses.max()) + self.slack

    @property
    def variation(self) -> float:
        losses, masses = self.points.losses, np.exp(self.points.log_masses)
        return float((masses * -np.expm1(-np.maximum(losses, 0.0))).sum()) * (1 + 1e-9)

    @property
    def log_affinity(self) -> float:
        return float(np.logaddexp.reduce(self.points.log_masses - self.points.losses / 2)) + 1e-12

    @property
    def certain_top(self) -> Fraction:
        return Fraction(self.top - 2 * self.slack) if len(self.points.losses) else Fraction(0)

    @property
    def log_top_mass(self) -> float:
        losses, log_masses = self.points.losses, self.points.log_masses
        return float(log_masses[np.argmax(losses)]) - 1e-12 if len(losses) else -math.inf

    def exact_atoms(self) -> ExactAtoms | None:
        return ExactAtoms(lambda: {ratio: ball(mass) for ratio, mass in self.ratios}, None) if self.ratios else None

    def swapped(self) -> LossDistribution:
        return self if self.reverse is None else self.reverse

    def optimistic(self) -> LossDistribution:
        if self.lower_points is self.points:
            return self
        return Atoms(self.lower_points, self.lower_points, self.lower_lost, self.lower_lost, slack=self.slack)

    def above(self, below: Atoms) -> Atoms:
        """This distribution for upper bounds, and another one for lower bounds, in both orders."""
        reverse = None
        if self.reverse or below.reverse:
            reverse = (self.reverse or self).above(below.reverse or below)
        return replace(
            self, lower_points=below.lower_points, lower_lost=below.lower_lost, reverse=reverse, pair=None, ratios=()
        )

    def trimmed(self, log_mass: float) -> LossDistribution:
        large = self._largest(log_mass)
        return _part(self.points.kept(~large)) if large.any() and not large.all() else self

    def parted(self, theta: float) -> tuple[LossDistribution, LossDistribution, float] | None:
        order = np.argsort(self.points.losses)
        place = valley((self.points.log_masses + theta * self.points.losses)[order])
        if place is None:
            return None
        large = np.zeros(len(order), dtype=bool)
        large[order[place:]] = True
        mass = float(np.logaddexp.reduce(self.points.log_masses[large])) + 1e-9
        return _part(self.points.kept(~large)), _part(self.points.kept(large)), mass

    def _largest(self, log_mass: float) -> npt.NDArray[np.bool_]:
        order = np.argsort(-self.points.losses)
        sums = np.logaddexp.accumulate(self.points.log_masses[order]) + 1e-9
        large = np.zeros(len(order), dtype=bool)
        large[order[sums <= log_mass]] = True
        return large

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        return self.points.cumulant(theta)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        return self.points.ratio(theta, times)


def _part(points: Points) -> Atoms:
    return Atoms(points, points, Fraction(0), Fraction(0))


def exact_pair(p: Sequence[Fraction], q: Sequence[Fraction]) -> Atoms:
    """The distribution of a release whose neighbours have the distributions p and q, in an order of its own.

    Nothing says that the record of one release is on the same side in the next, so upper bounds rest on the pair that
    dominates both orders; lower bounds on p against q in all releases, or on q against p in all.
    """
    worst, forward, backward = _exact(*either_order(p, q)), _exact(p, q), _exact(q, p)
    if forward.lost == backward.lost == worst.lost and sorted(forward.ratios) == sorted(backward.ratios):
        return forward
    reverse = Atoms(worst.points, backward.points, worst.lost, backward.lost, slack=worst.slack)
    return Atoms(worst.points, forward.points, worst.lost, forward.lost, reverse, worst.slack, (tuple(p), tuple(q)))


def one_sided_pair(p: Sequence[Fraction], q: Sequence[Fraction]) -> Atoms:
    """The distribution of a release that has the distribution p with a record and q without it, always this way round.

    As for sampled noise, the record is in the same dataset throughout: all releases compare p with q, or all q with p.
    """
    forward, backward = _exact(p, q), _exact(q, p)
    return replace(forward, reverse=backward)


def _exact(p: Sequence[Fraction], q: Sequence[Fraction]) -> Atoms:
    shared: dict[Fraction, Fraction] = {}
    lost = Fraction(0)
    for a, b in zip(p, q, strict=True):
        if a and b:
            shared[a / b] = shared.get(a / b, Fraction(0)) + a
        elif a:
            lost += a
    losses = np.array([_log(ratio) for ratio in shared], dtype=float)
    log_masses = np.array([_log(mass) for mass in shared.values()], dtype=float)
    points = Points(losses, log_masses, 2 * U * np.abs(log_masses), 2 * U * np.abs(losses))
    slack = 8 * U * float(np.abs(losses).max(initial=0))
    return Atoms(points, points, lost, lost, slack=slack, ratios=tuple(shared.items()))


def _log(ratio: Fraction) -> float:
    if ratio == 1:
        return 0.0
    low, high = bounds(lambda: ball(ratio).log())
    return float((low + high) / 2)


@dataclass(frozen=True, eq=False)
class DiscreteGaussian(Atoms):
    """P[x] in proportion to e^(-x^2/(2 sigma^2)), moved by whole steps d: L = (d^2 - 2 d x)/(2 sigma^2) at noise x.

    A smaller shift is no worse, and the pair is its own mirror image.
    """

    variance: Fraction = Fraction(1)
    steps: int = 1

    @property
    def rho(self) -> Fraction:
        """Of one release; it adds up as that of continuous noise does."""
        return self.steps**2 / (2 * self.variance)

    def exact_atoms(self) -> ExactAtoms:
        last = (len(self.points.losses) - 1) // 2

        def masses() -> dict[Any, Ball]:
            weights = [(-ball(x * x / (2 * self.variance))).exp() for x in range(last + 1)]
            total = (2 * sum(weights[1:], ball(0)) + weights[0]) * (1 + zero_to(2 * ball(self.unread)))
            return {self.steps - 2 * x: weights[abs(x)] / total for x in range(-last, last + 1)}

        return ExactAtoms(masses, self.steps / (2 * self.variance))


@lru_cache(32)
def discrete_gaussian_distribution(sigma: Fraction, steps: int) -> DiscreteGaussian:
    """The distribution for a sigma of at most 1000."""
    last = math.ceil(_REACH * sigma) + 1
    x = np.arange(-last, last + 1, dtype=np.float64)
    variance = float(sigma**2)
    exponents = x * x / (-2 * variance)
    log_masses = exponents - math.log(math.fsum(np.exp(exponents)))
    losses = steps * (steps - 2 * x) / (2 * variance)
    points = Points(losses, log_masses, 4 * FUNCTION + 4 * U * np.abs(exponents), 4 * U * np.abs(losses))
    slack = 8 * U * float(np.abs(losses).max())
    return DiscreteGaussian(
        points, points, Fraction(0), Fraction(0), unread=_BEYOND, slack=slack, variance=sigma**2, steps=steps
    )
