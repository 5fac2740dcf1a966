"""Gaussian differential privacy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from dither.accounting.guarantees.gaussian_curve import delta_of_gaussian, epsilon_of_gaussian
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import LARGEST, SMALLEST, Number, non_negative
from dither.neighbours import Relation


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
        self._keep(mu_squared=max(square, 2 * SMALLEST) if square else square, relation=Relation.read(relation))

    def _stated(self) -> Iterator[tuple[str, Any]]:
        for name, value in super()._stated():
            yield ("mu", self.mu) if name == "mu_squared" else (name, value)

    @property
    def mu(self) -> float:
        """mu, rounded up."""
        if not self.mu_squared:
            return 0.0
        return float_up(bounds(lambda: ball(self.mu_squared).sqrt())[1])

    @property
    def gaussian_mu_squared(self) -> Fraction:
        return self.mu_squared

    def _epsilon_at(self, delta: Number) -> float:
        return epsilon_of_gaussian(self.mu_squared, read_delta(delta))

    def _delta_at(self, epsilon: Number) -> float:
        return delta_of_gaussian(self.mu_squared, non_negative(epsilon, "epsilon"))

    def zcdp(self) -> ZCDP:
        return ZCDP(self.mu_squared / 2, relation=self.relation, proven_mu_squared=self.mu_squared)

    def basic(self) -> NoReturn:
        raise ParameterError("mu has no single epsilon and delta to add up; use a budget whose rho adds.")
