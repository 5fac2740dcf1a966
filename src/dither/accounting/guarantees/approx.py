"""Approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, cast

from dither.accounting.guarantees.conversion import delta_of_pure, epsilon_of_pure, rho_of_pure
from dither.accounting.guarantees.gaussian_curve import delta_of_gaussian, epsilon_of_gaussian
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import float_up
from dither.exact.parameters import Number, non_negative, probability
from dither.neighbours import Relation

CompositionRule = Literal["zcdp", "basic"]


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(Guarantee):
    """For all neighbours and all sets E: P[M(D) in E] <= e^epsilon P[M(D') in E] + delta.

    As a budget, `composition` fixes its currency for good: "zcdp" (rho adds, converted once at the end) or "basic"
    (epsilons and deltas add). `proven_mu_squared` says that the mechanism is also mu-Gaussian DP, which has
    the sharper curve; `proven_rho` that it is delta-approximate rho-zCDP with a smaller rho than epsilon alone implies.

    >>> ApproxDP(1, "1e-6").delta
    Fraction(1, 1000000)
    """

    epsilon: Fraction
    delta: Fraction
    composition: CompositionRule
    relation: Relation
    proven_mu_squared: Fraction | None = field(compare=False, repr=False)
    proven_rho: Fraction | None = field(compare=False, repr=False)

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        composition: str = "zcdp",
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        proven_mu_squared: Fraction | None = None,
        proven_rho: Fraction | None = None,
    ) -> None:
        if composition not in ("zcdp", "basic"):
            raise ParameterError(f'composition must be "zcdp" or "basic"; got {composition!r}.')
        self._keep(
            epsilon=non_negative(epsilon, "epsilon"),
            delta=probability(delta, "delta"),
            composition=cast(CompositionRule, composition),
            relation=Relation.read(relation),
        )
        mu_squared = None if proven_mu_squared is None else non_negative(proven_mu_squared, "proven_mu_squared")
        self._keep(
            proven_mu_squared=mu_squared,
            proven_rho=None if proven_rho is None else non_negative(proven_rho, "proven_rho"),
        )

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        return self.proven_mu_squared

    def _epsilon_at(self, delta: Number) -> float:
        target = read_delta(delta)
        if self.proven_mu_squared is not None:
            return epsilon_of_gaussian(self.proven_mu_squared, target)
        if target < self.delta:
            return math.inf
        # The worst pair: with probability delta all is lost, otherwise randomised response with this epsilon.
        general = epsilon_of_pure(self.epsilon, (target - self.delta) / (1 - self.delta))
        return general if self.proven_rho is None else min(general, self.zcdp().epsilon_at(target))

    def _delta_at(self, epsilon: Number) -> float:
        target = non_negative(epsilon, "epsilon")
        if self.proven_mu_squared is not None:
            return delta_of_gaussian(self.proven_mu_squared, target)
        rest = Fraction(delta_of_pure(self.epsilon, target))
        general = float_up(self.delta + (1 - self.delta) * rest)
        return general if self.proven_rho is None else min(general, self.zcdp().delta_at(target))

    def zcdp(self) -> ZCDP:
        if self.proven_mu_squared is not None:
            return ZCDP(self.proven_mu_squared / 2, relation=self.relation, proven_mu_squared=self.proven_mu_squared)
        general = rho_of_pure(self.epsilon)
        rho = general if self.proven_rho is None else min(general, self.proven_rho)
        return ZCDP(rho, self.delta, relation=self.relation)

    def basic(self) -> ApproxDP:
        return self
