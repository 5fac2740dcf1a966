"""What a statistic costs: epsilon, epsilon and delta, or rho; and the noise that each buys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, probability, sqrt_down, sqrt_up
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.quantiles.quantile import epsilon_of_rho
from dither.neighbours import Relation
from dither.sensitivity.norms import row_relation


@dataclass(frozen=True)
class Price:
    """A price under a relation; either epsilon (with or without delta) or rho is set."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    relation: Relation

    @classmethod
    def read(cls, epsilon: Number | None, delta: Number | None, rho: Number | None, relation: Relation | str) -> Price:
        """Exactly one currency; delta only beside epsilon."""
        held = row_relation(relation)
        if rho is not None and epsilon is None and delta is None:
            return cls(None, None, positive(rho, "rho"), held)
        if rho is None and epsilon is not None:
            return cls(positive(epsilon, "epsilon"), None if delta is None else probability(delta, "delta"), None, held)
        raise ParameterError("state the price as epsilon=, as epsilon= and delta=, or as rho=.")

    @property
    def guarantee(self) -> PureDP | ApproxDP | ZCDP:
        """What the whole call guarantees."""
        if self.rho is not None:
            return ZCDP(self.rho, relation=self.relation)
        if self.delta is not None:
            return ApproxDP(self._epsilon, self.delta, relation=self.relation)
        return PureDP(self._epsilon, self.relation)

    @property
    def _epsilon(self) -> Fraction:
        if self.epsilon is None:
            raise ParameterError("state the price as epsilon=.")
        return self.epsilon

    @property
    def choosing_epsilon(self) -> Fraction:
        """The epsilon of an exponential mechanism at this price (its rho is epsilon^2/8)."""
        return epsilon_of_rho(self.rho) if self.rho is not None else self._epsilon

    @property
    def pure_epsilon(self) -> Fraction:
        """The epsilon of any other pure mechanism at this price: its rho is at most epsilon^2/2."""
        return sqrt_down(2 * self.rho) if self.rho is not None else self._epsilon

    def part(self, share: Fraction) -> Price:
        """A share of the price; shares that add up to 1 cost the price."""
        epsilon, delta, rho = (None if x is None else x * share for x in (self.epsilon, self.delta, self.rho))
        return Price(epsilon, delta, rho, self.relation)

    def noise(self, l1: Fraction, l2_squared: Fraction, grid: Fraction, *, rounded: int = 0) -> AdditiveNoise:
        """The least noise that the price buys for a vector with these sensitivities: a choice from public numbers."""
        l2 = sqrt_up(l2_squared)
        if self.rho is not None:
            return Gaussian(
                rho=self.rho, sensitivity=l2, grid=grid, rounded_coordinates=rounded, relation=self.relation
            )
        laplace = Laplace(
            epsilon=self._epsilon, sensitivity=l1, grid=grid, rounded_coordinates=rounded, relation=self.relation
        )
        if self.delta is None:
            return laplace
        gaussian = Gaussian(
            epsilon=self._epsilon,
            delta=self.delta,
            sensitivity=l2,
            grid=grid,
            rounded_coordinates=rounded,
            relation=self.relation,
        )
        return laplace if laplace.variance <= gaussian.variance else gaussian
