"""Distance to instability: publish a value exactly when the data are far from any other value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.approx import ApproxDP
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive
from dither.mechanisms.outcome import GuardedOutcome
from dither.mechanisms.refusal import REFUSED
from dither.mechanisms.sensitivity_bounds import read_relation
from dither.mechanisms.stability.distance_test import DistanceTest, small_delta
from dither.neighbours import Relation


@dataclass(frozen=True, init=False, repr=False)
class StableRelease(Frozen):
    """(epsilon, delta)-DP: publishes `value` without noise, or REFUSED, by a private test of the distance.

    distance: a whole number that moves by at most 1 between neighbours with the same value, and is 0 whenever some
    neighbour has another value: (the smallest number of changes that leads to another value) - 1, or any lower bound of
    it with these two properties; math.inf if no change leads to another value. It must be stated for the same relation.
    The value may be anything. Published iff distance + X >= threshold, X discrete Laplace of scale 1/epsilon.

    Thakurta and Smith 2013; docs/proofs/stablerelease.md.

    >>> m = StableRelease(epsilon=1, delta="1e-6")
    >>> m.threshold, m.release("Milk", distance=1000).value, m.release("Milk", distance=0).value
    (14, 'Milk', REFUSED)
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation

    def __init__(self, *, epsilon: Number, delta: Number, relation: Relation | str | None = None) -> None:
        self._keep(epsilon=positive(epsilon, "epsilon"), delta=small_delta(delta), relation=read_relation(relation))
        _ = self.test

    @property
    def test(self) -> DistanceTest:
        return DistanceTest(self.epsilon, self.delta)

    @property
    def threshold(self) -> int:
        """The smallest whole m with q^m / (1 + q) <= delta, q = exp(-epsilon)."""
        return self.test.threshold

    @property
    def guarantee(self) -> ApproxDP:
        """Charged whether a value or REFUSED comes out."""
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)

    def release(self, value: Any, distance: int | float) -> GuardedOutcome:
        """The value, or REFUSED. Neither says how far the data are from another value."""
        return GuardedOutcome(value if self.test.passes(distance) else REFUSED, self)

    def draws(self, data: tuple[Any, int | float], size: int) -> npt.NDArray[np.bool_]:
        """Whether each of `size` independent releases of (value, distance) publishes the value."""
        return self.test.passes_each(data[1], size)

    def published(self, distance: int | float) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability of an answer at this distance: for planning, not for data."""
        return self.test.passing(distance)

    def plot(self, distance: int | None = None, *, same_value: bool = True) -> Any:
        """An altair chart: how often the value is published at this distance and one step farther, and the ratios.

        With same_value=False: two neighbours with different values, both at distance 0. For explaining, never for data.
        """
        from dither.mechanisms.pictures.choices import plot_stable

        return plot_stable(self, distance, same_value=same_value)
