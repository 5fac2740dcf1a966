"""The distribution of a privacy loss, known by its transform."""

from __future__ import annotations

import itertools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.balls import Ball, ball

Reals = npt.NDArray[np.float64]
Complexes = npt.NDArray[Any]

# The unit roundoff, and what one elementary function of NumPy or the C library is trusted with: eight units in the last
# place, several times what their authors state and what the tests measure.
U = 2.0**-53
FUNCTION = 16 * U
# Relative errors mean nothing below the normal range of floats: what is positive and smaller counts as this much.
UNDERFLOW = 1e-290


@dataclass(frozen=True)
class ExactAtoms:
    """Finitely many losses: so many steps each, or logarithms of ratios if there is no step; their masses are balls."""

    masses: Callable[[], dict[Any, Ball]]
    step: Fraction | None

    def loss(self, key: int | Fraction) -> Ball:
        """The loss that a key stands for."""
        return ball(Fraction(key)).log() if self.step is None else ball(key * self.step)

    def size(self, count: int) -> int:
        """At least how many different sums `count` such losses have."""
        keys = list(self.masses())
        if self.step is None:
            return math.comb(count + len(keys) - 1, count)
        return (max(keys) - min(keys)) * count // math.gcd(*(key - keys[0] for key in keys)) + 1 if keys[1:] else 1

    def length(self, count: int) -> int:
        """How many times as long as those of small numbers products of so many keys take, at most."""
        if self.step is not None:
            return 1
        bits: int = max(key.numerator.bit_length() + key.denominator.bit_length() for key in self.masses())
        return 1 + count * bits // 256

    def repeated(self, count: int) -> dict[Any, Ball]:
        """The sums of `count` such losses, by the sum or the product of their keys."""
        together = operator.mul if self.step is None else operator.add
        found, power = None, self.masses()
        while count:
            if count % 2:
                found = power if found is None else _convolved(found, power, together)
            count //= 2
            power = _convolved(power, power, together) if count else power
        return found or {}


def _convolved(one: dict[Any, Ball], two: dict[Any, Ball], together: Callable[[Any, Any], Any]) -> dict[Any, Ball]:
    found: dict[Any, Ball] = {}
    for (first, mass), (second, other) in itertools.product(one.items(), two.items()):
        key, both = together(first, second), mass * other
        found[key] = found[key] + both if key in found else both
    return found


class LossDistribution(ABC):
    """L = ln p/q under P, of a pair (P, Q) that dominates a mechanism: its transform is M(z) = E_P[e^(zL); L < inf].

    All figures come with bounds of their own floating-point error, so that a sum over them can be certified.
    """

    lost: (
        Fraction  # P[L = infinity], which no epsilon covers: exact, or rounded up (down for an optimistic distribution)
    )

    @property
    def unread(self) -> Fraction:
        """At least the mass of outcomes that the transform leaves out: lost as far as upper bounds are concerned."""
        return Fraction(0)

    @property
    def easy_orders(self) -> float:
        """Up to which order the cumulants of many orders take little more work than that of one."""
        return math.inf

    @property
    @abstractmethod
    def top(self) -> float:
        """No finite loss is larger; rounded up."""

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same distribution, so that one order of the pair is enough."""
        return True

    @property
    def stated_epsilon(self) -> Fraction | None:
        """The epsilon that bounds every finite loss, None if none was stated."""
        return None

    @property
    @abstractmethod
    def variation(self) -> float:
        """At least the total variation between P and Q, apart from what is lost."""

    @property
    @abstractmethod
    def log_affinity(self) -> float:
        """At least ln M(-1/2), the logarithm of the Bhattacharyya coefficient: how alike P and Q are."""

    @property
    def certain_top(self) -> Fraction:
        """The largest finite loss, rounded down, where it has a mass of its own."""
        return Fraction(0)

    @property
    def log_top_mass(self) -> float:
        """At most ln of that mass, -infinity if nothing is known of it."""
        return -math.inf

    def log_moments(self, theta: Reals) -> Reals:
        """At least ln E[e^(theta L); L < infinity] for each theta > 0, for all outcomes and sharp for tiny losses."""
        value, error = self.cumulant(theta)
        return np.where(np.isfinite(value), value + error, np.inf)

    def exact_atoms(self) -> ExactAtoms | None:
        """All finite losses, if they are few and known exactly."""
        return None

    def swapped(self) -> LossDistribution:
        """The distribution of the pair (Q, P)."""
        return self

    def optimistic(self) -> LossDistribution:
        """A distribution dominated by the true one, for lower bounds; the distribution itself where it is exact."""
        return self

    def trimmed(self, log_mass: float) -> LossDistribution:
        """Without the largest losses, of a mass of at most e^log_mass together; all of it if it has no tail.

        What a trimmed distribution says is about the outcomes that are left: its `lost` says nothing.
        """
        return self

    def parted(self, theta: float) -> tuple[LossDistribution, LossDistribution, float] | None:
        """The small losses, the large ones and ln of a bound of their mass, at the valley between them at a tilt.

        None if there is none. Both are distributions of total mass below 1, whose transforms add up to this one's.
        """
        return None

    @abstractmethod
    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """ln M at real theta > 0, and a bound of its absolute error."""

    @abstractmethod
    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        """M(theta + it)/M(theta), of modulus at most 1, and a bound of its absolute error."""

    def log_ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals] | None:
        """ln of the ratio and a bound of its absolute error, where that is known better than from the ratio; else None.

        The error is at most 1, and stands for any where the ratio is lost in rounding.
        """
        return None
