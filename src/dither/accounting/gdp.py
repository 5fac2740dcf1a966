"""Gaussian differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting.balls import ball, bounds, float_down, float_up, sign
from dither.accounting.gaussian_curve import LARGEST_READ, delta_ball, delta_of_gaussian, epsilon_of_gaussian
from dither.accounting.guarantee import Guarantee
from dither.accounting.pure import _delta
from dither.errors import ParameterError
from dither.neighbours import Relation
from dither.parameters import LARGEST, SMALLEST, Number, non_negative

if TYPE_CHECKING:
    from dither.accounting.approx import ApproxDP
    from dither.accounting.pld.pld import PLD
    from dither.accounting.pure import PureDP
    from dither.accounting.zcdp import ZCDP


@dataclass(frozen=True, init=False, repr=False)
class GDP(Guarantee):
    """For all neighbours telling the outputs apart is at least as hard as telling N(0,1) from N(mu,1).

    Squares add: give `mu_squared=` where mu itself is irrational (Dong, Roth and Su 2022).

    >>> round(GDP(1).epsilon_at("1e-6"), 4)
    4.8866
    """

    mu_squared: Fraction
    relation: Relation

    def __init__(
        self,
        mu: Number | None = None,
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        mu_squared: Number | None = None,
    ) -> None:
        if (mu is None) == (mu_squared is None):
            raise ParameterError("give GDP either mu or mu_squared=.")
        square = non_negative(mu, "mu") ** 2 if mu is not None else non_negative(mu_squared, "mu_squared")  # type: ignore[arg-type]
        if not square <= LARGEST:
            raise ParameterError("mu^2 must be at most 1e300.")
        # A larger mu promises less: what is smaller than any price is rounded up.
        object.__setattr__(self, "mu_squared", max(square, 2 * SMALLEST) if square else square)
        object.__setattr__(self, "relation", Relation.read(relation))

    @property
    def mu(self) -> float:
        """mu, rounded up."""
        if not self.mu_squared:
            return 0.0
        return float_up(bounds(lambda: ball(self.mu_squared).sqrt())[1])

    @property
    def gaussian_mu_squared(self) -> Fraction:
        return self.mu_squared

    def epsilon_at(self, delta: Number) -> float:
        return epsilon_of_gaussian(self.mu_squared, _delta(delta))

    def delta_at(self, epsilon: Number) -> float:
        return delta_of_gaussian(self.mu_squared, non_negative(epsilon, "epsilon"))

    def privacy_loss(self) -> PLD:
        from dither.accounting.pld.pld import PLD

        return PLD((), self.mu_squared, self.relation)

    def zcdp(self) -> ZCDP:
        from dither.accounting.zcdp import ZCDP

        return ZCDP(self.mu_squared / 2, relation=self.relation, proven_mu_squared=self.mu_squared)

    def basic(self) -> PureDP | ApproxDP:
        raise ParameterError("mu has no single epsilon and delta to add up; use a budget whose rho adds.")


def gaussian_epsilon_bounds(mu_squared: Fraction, delta: Fraction) -> tuple[float, float]:
    """Certified bounds of the epsilon of Gaussian noise at delta."""
    high = epsilon_of_gaussian(mu_squared, delta)
    if not math.isfinite(high) or high == 0:
        return high, high
    for bits in (40, 30, 20, 10):
        low = high * (1 - 2.0**-bits)
        if low <= LARGEST_READ and _above(Fraction(low), mu_squared, delta):
            return low, high
    return 0.0, high


def gaussian_delta_bounds(mu_squared: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Certified bounds of the delta of Gaussian noise at epsilon."""
    if mu_squared == 0 or epsilon > LARGEST_READ:
        return 0.0, delta_of_gaussian(mu_squared, epsilon)
    low, high = bounds(lambda: delta_ball(ball(epsilon), ball(mu_squared).sqrt()))
    return max(0.0, float_down(low)), min(1.0, max(0.0, float_up(high)))


def _above(epsilon: Fraction, mu_squared: Fraction, delta: Fraction) -> bool:
    """Certainly delta(epsilon) > delta."""
    return sign(lambda: delta_ball(ball(epsilon), ball(mu_squared).sqrt()) - ball(delta), undecided=-1) > 0
