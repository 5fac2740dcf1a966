"""Propose-test-release: noise for a proposed bound on the local sensitivity, if the data are far from breaking it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.approx import ApproxDP
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive, probability
from dither.mechanisms.additive.addition import check_scale
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.outcome import GuardedOutcome
from dither.mechanisms.refusal import REFUSED, REFUSED_CODE
from dither.mechanisms.sensitivity_bounds import read_relation
from dither.mechanisms.stability.distance_test import DistanceTest, small_delta
from dither.neighbours import Relation

_FINENESS = 2**20


@dataclass(frozen=True, init=False, repr=False)
class ProposeTestRelease(Frozen):
    """(epsilon, delta)-DP: value + noise for the sensitivity `bound`, or REFUSED, by a private test of the distance.

    epsilon is the total: test_share of it (half by default) pays the test, the rest the noise. `bound` is proposed
    without looking at the data. distance: how many changes lead from the data to a dataset whose local sensitivity is
    above `bound` (0 if it is already; math.inf if there is none), or a lower bound of that which moves by at most 1
    between neighbours; for the same relation. The value and the bound are in L1 if the value is a vector.

    grid: the answer is a multiple of it. By default a power of two far below the noise, from `bound` and epsilon alone;
    single values are then rounded to it and the rounding is paid for. With a grid of your own, values must lie on it.

    Dwork and Lei 2009; docs/proofs/proposetestrelease.md.

    >>> m = ProposeTestRelease(epsilon=1, delta="1e-6", bound=2, grid=1)
    >>> m.threshold, m.answer.scale, m.release(40, distance=0).value
    (27, Fraction(4, 1), REFUSED)
    """

    epsilon: Fraction
    delta: Fraction
    bound: Fraction
    test_share: Fraction
    grid: Fraction
    rounds: bool
    relation: Relation

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        bound: Number,
        test_share: Number = Fraction(1, 2),
        grid: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        self._keep(
            epsilon=positive(epsilon, "epsilon"),
            delta=small_delta(delta),
            bound=positive(bound, "bound"),
            test_share=probability(test_share, "test_share"),
            rounds=grid is None,
            relation=read_relation(relation),
        )
        scale = self.bound / (self.epsilon * (1 - self.test_share))
        self._keep(grid=fine_grid(min(scale, self.bound)) if grid is None else positive(grid, "grid"))
        check_scale(self.answer.scale_steps)
        _ = self.test

    @property
    def test(self) -> DistanceTest:
        return DistanceTest(self.epsilon * self.test_share, self.delta)

    @property
    def threshold(self) -> int:
        return self.test.threshold

    @property
    def answer(self) -> Laplace:
        """The mechanism that answers once the test has passed."""
        return Laplace(
            epsilon=self.epsilon * (1 - self.test_share),
            sensitivity=self.bound,
            grid=self.grid,
            rounded_coordinates=int(self.rounds),
            relation=self.relation,
        )

    @property
    def guarantee(self) -> ApproxDP:
        """Charged whether a number or REFUSED comes out."""
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)

    def release(self, value: Any, distance: int | float) -> GuardedOutcome:
        """The noisy value, or REFUSED. Neither says how far the data are from breaking the bound."""
        # The noisy answer is made either way: a refusal takes the same steps and meets the same errors.
        noisy = self.answer.release(value).value
        return GuardedOutcome(noisy if self.test.passes(distance) else REFUSED, self)

    def draws(self, data: tuple[Any, int | float], size: int) -> npt.NDArray[Any]:
        """What `size` independent releases of (value, distance) publish: grid steps, or REFUSED_CODE."""
        value, distance = data
        noisy = self.answer.draws(value, size)
        return np.where(self.test.passes_each(distance, size), noisy, REFUSED_CODE)

    def published(self, distance: int | float) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability of an answer at this distance: for planning, not for data."""
        return self.test.passing(distance)

    def plot(self, value: Number = 0, distance: int | None = None) -> Any:
        """An altair chart: the exact distributions of the answer, and of REFUSED, on two neighbours, and their ratio.

        The neighbours' values are apart by the bound, their distances by 1. For explaining, never for data.
        """
        from dither.mechanisms.pictures.refusals import plot_tested

        return plot_tested(self, value, distance)


def fine_grid(scale: Fraction) -> Fraction:
    """A power of two, 2^20 times below the scale."""
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    return Fraction(2) ** exponent / _FINENESS
