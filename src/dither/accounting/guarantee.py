"""What every guarantee can say: its relation, its curve, and itself in the two currencies that add up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.neighbours import Relation
from dither.parameters import Number

if TYPE_CHECKING:
    from dither.accounting.approx import ApproxDP
    from dither.accounting.composition import Composition
    from dither.accounting.pure import PureDP
    from dither.accounting.zcdp import ZCDP


class Guarantee(ABC):
    """A proven bound on how much the output law can differ between two neighbours."""

    relation: Relation

    @abstractmethod
    def epsilon_at(self, delta: Number) -> float:
        """An epsilon, rounded up, such that (epsilon, delta)-DP holds; infinity if this guarantee knows none."""

    @abstractmethod
    def delta_at(self, epsilon: Number) -> float:
        """A delta, rounded up, such that (epsilon, delta)-DP holds; at most 1."""

    @abstractmethod
    def zcdp(self) -> ZCDP:
        """The (approximate) zero-concentrated DP that follows, rho rounded up: what a rho budget is charged."""

    @abstractmethod
    def basic(self) -> PureDP | ApproxDP:
        """The stated epsilon and delta: what a budget whose epsilons add up is charged; refused if none was stated."""

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        """mu^2 if the mechanism is proven mu-Gaussian DP: then curves are those of N(0,1) against N(mu,1)."""
        return None

    def __mul__(self, count: int) -> Composition:
        """This guarantee `count` times over."""
        from dither.accounting.composition import repeat

        return repeat(self, count)

    __rmul__ = __mul__
