"""Zero-concentrated differential privacy, exact and approximate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from dither.accounting.guarantees.conversion import delta_of_rho, epsilon_of_rho
from dither.accounting.guarantees.gaussian_curve import delta_of_gaussian, epsilon_of_gaussian
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.errors import ParameterError
from dither.exact.balls import float_up
from dither.exact.parameters import Number, non_negative
from dither.neighbours import Relation


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(Guarantee):
    """For all neighbours and all orders a > 1 the Renyi divergence is at most rho * a, apart from events of
    probability `delta` (delta > 0 is approximate zCDP).

    >>> ZCDP("0.1").epsilon_at("1e-6") < 2.1421
    True
    """

    rho: Fraction
    delta: Fraction
    relation: Relation
    proven_mu_squared: Fraction | None = field(compare=False, repr=False)

    def __init__(
        self,
        rho: Number,
        delta: Number = 0,
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        proven_mu_squared: Fraction | None = None,
    ) -> None:
        self._keep(rho=non_negative(rho, "rho"), delta=read_delta(delta), relation=Relation.read(relation))
        mu_squared = None if proven_mu_squared is None else non_negative(proven_mu_squared, "proven_mu_squared")
        self._keep(proven_mu_squared=mu_squared)

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        return self.proven_mu_squared

    def _epsilon_at(self, delta: Number) -> float:
        target = read_delta(delta)
        if self.proven_mu_squared is not None:
            return epsilon_of_gaussian(self.proven_mu_squared, target)
        if self.rho == 0:
            return 0.0 if target >= self.delta else math.inf
        # The additive delta is paid first; what is left of the target converts.
        return epsilon_of_rho(self.rho, target - self.delta) if target > self.delta else math.inf

    def _delta_at(self, epsilon: Number) -> float:
        target = non_negative(epsilon, "epsilon")
        if self.proven_mu_squared is not None:
            return delta_of_gaussian(self.proven_mu_squared, target)
        return min(1.0, float_up(self.delta + Fraction(delta_of_rho(self.rho, target))))

    def zcdp(self) -> ZCDP:
        if self.proven_mu_squared is None:
            return self
        rho = min(self.rho, self.proven_mu_squared / 2)
        return ZCDP(rho, relation=self.relation, proven_mu_squared=self.proven_mu_squared)

    def basic(self) -> NoReturn:
        raise ParameterError(
            "a rho has no single epsilon and delta to add up; use a budget whose rho adds, "
            "or make the mechanism by epsilon= and delta=."
        )
