"""The loss of randomised response with more than two values: +epsilon, -epsilon, or none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.accounting.pld.closed_forms import Stated, TwoPoint
from dither.accounting.pld.distribution import FUNCTION, Complexes, ExactAtoms, Reals, U
from dither.exact.balls import Ball, ball

_NEAR = 1.0


@dataclass(frozen=True)
class ThreePoint(Stated):
    """One report out of `values`: the true value, the neighbour's, or a third one, which says nothing.

    A third one has probability c = (k-2)/(e^epsilon + k-1) either way: the transform is that of two values, mixed
    with 1, M(z) = c + (1-c) cosh(w epsilon)/cosh(epsilon/2).
    """

    values: int

    @property
    def _said(self) -> float:
        """1 - c: the chance that a report says something."""
        rare = math.exp(-float(self.epsilon))
        return (1 + rare) / (1 + (self.values - 1) * rare)

    @property
    def variation(self) -> float:
        return self._said * TwoPoint(self.epsilon).variation * (1 + 8 * FUNCTION)

    @property
    def log_affinity(self) -> float:
        said = self._said
        return math.log1p(said * math.expm1(TwoPoint(self.epsilon).log_affinity)) + 8 * FUNCTION

    @property
    def log_top_mass(self) -> float:
        return (
            math.log(self._said) + TwoPoint(self.epsilon).log_top_mass - 8 * FUNCTION * (1 + abs(math.log(self._said)))
        )

    def exact_atoms(self) -> ExactAtoms:
        def masses() -> dict[Any, Ball]:
            rare = (-ball(self.epsilon)).exp()
            truth = 1 / (1 + (self.values - 1) * rare)
            return {1: truth, 0: (self.values - 2) * rare * truth, -1: rare * truth}

        return ExactAtoms(masses, self.epsilon)

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        two, wrong = TwoPoint(self.epsilon).cumulant(theta)
        said, silent = self._said, 1 - self._said
        near = np.log1p(said * np.expm1(np.minimum(two, _NEAR)))
        far = two + np.log(said + silent * np.exp(-np.maximum(two, _NEAR)))
        value = np.where(two < _NEAR, near, far)
        # Its slope by the two-valued cumulant is below 1 and, near 0, proportional; `said` has a relative error.
        slope = np.where(two < _NEAR, np.minimum(1.0, 3 * said), 1.0)
        return value, slope * wrong + 8 * FUNCTION * (np.abs(value) + (two >= _NEAR))

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        two, error = TwoPoint(self.epsilon).ratio(theta, times)
        at = np.array([theta])
        grown, own = float(TwoPoint(self.epsilon).cumulant(at)[0][0]), float(self.cumulant(at)[0][0])
        share = min(1.0, self._said * math.exp(grown - own))
        value: Complexes = (1 - share) + share * two
        # The share is as uncertain as both cumulants are, and moves the value by at most |two - 1| <= 2.
        unsure = 2 * share * float((TwoPoint(self.epsilon).cumulant(at)[1] + self.cumulant(at)[1])[0])
        return value, share * error + unsure + 8 * FUNCTION + 4 * U
