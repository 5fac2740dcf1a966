"""Pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting.guarantees.conversion import delta_of_pure, epsilon_of_pure, rho_of_pure
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.zcdp import ZCDP
from dither.exact.parameters import Number, non_negative, whole
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.accounting.pld.pld import PLD


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Guarantee):
    """For all neighbours and all sets E: P[M(D) in E] <= e^epsilon P[M(D') in E].

    `proven_rho` is a smaller rho than the general epsilon tanh(epsilon/2), for a mechanism whose distribution is known;
    `proven_laplace_steps` says that it is discrete Laplace noise moved by at most so many steps in L1.

    >>> PureDP("0.1").epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction
    relation: Relation
    proven_rho: Fraction | None = field(compare=False, repr=False)
    proven_laplace_steps: int | None = field(compare=False, repr=False)

    def __init__(
        self,
        epsilon: Number,
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        proven_rho: Fraction | None = None,
        proven_laplace_steps: int | None = None,
    ) -> None:
        self._keep(
            epsilon=non_negative(epsilon, "epsilon"),
            relation=Relation.read(relation),
            proven_rho=None if proven_rho is None else non_negative(proven_rho, "proven_rho"),
        )
        steps = None if proven_laplace_steps is None else whole(proven_laplace_steps, "proven_laplace_steps")
        self._keep(proven_laplace_steps=steps)

    @property
    def delta(self) -> Fraction:
        """0: pure DP has no delta."""
        return Fraction(0)

    def _epsilon_at(self, delta: Number) -> float:
        target = read_delta(delta)
        general = epsilon_of_pure(self.epsilon, target)
        loss = self._laplace_loss()
        if loss is not None:
            return min(general, loss.epsilon_at(target))
        return general if self.proven_rho is None else min(general, self.zcdp().epsilon_at(target))

    def _delta_at(self, epsilon: Number) -> float:
        target = non_negative(epsilon, "epsilon")
        general = delta_of_pure(self.epsilon, target)
        loss = self._laplace_loss()
        if loss is not None:
            return min(general, loss.delta_at(target))
        return general if self.proven_rho is None else min(general, self.zcdp().delta_at(target))

    def _laplace_loss(self) -> PLD | None:
        """The loss of discrete Laplace noise, if that is proven; one step of it is randomised response."""
        return None if self.proven_laplace_steps in (None, 1) else self.privacy_loss()

    def zcdp(self) -> ZCDP:
        general = rho_of_pure(self.epsilon)
        return ZCDP(general if self.proven_rho is None else min(general, self.proven_rho), relation=self.relation)

    def basic(self) -> PureDP:
        return self
