"""The guarantee of one randomised response among several values, which knows the distribution of its loss."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting.guarantees.guarantee import read_delta
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, float_down, float_up
from dither.exact.parameters import Number, non_negative, whole
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.accounting.pld.pld import PLD


@dataclass(frozen=True, init=False)
class ResponseDP(PureDP):
    """epsilon-DP by one report: the truth with probability e^epsilon/(e^epsilon + k - 1), else one of k - 1 others.

    Its curve is that of this distribution, which is below what every epsilon-DP mechanism is sure of.

    >>> round(ResponseDP(1, 10, "replace").delta_at(0), 6), round(PureDP(1).delta_at(0), 6)
    (0.146633, 0.462117)
    """

    values: int

    def __init__(
        self,
        epsilon: Number,
        values: int,
        relation: Relation | str = Relation.REPLACE,
        *,
        proven_rho: Fraction | None = None,
    ) -> None:
        super().__init__(epsilon, relation, proven_rho=proven_rho)
        self._keep(values=whole(values, "values", least=2))

    def _epsilon_at(self, delta: Number) -> float:
        return self.bounds_at(delta=delta)[1]

    def _delta_at(self, epsilon: Number) -> float:
        return self.bounds_at(epsilon=epsilon)[1]

    def bounds_at(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float]:
        """Exact up to rounding: only the report of the true value counts at an epsilon of at least 0."""
        if (epsilon is None) == (delta is None):
            raise ParameterError("read the curve at epsilon= or at delta=, one of them.")
        if epsilon is not None:
            at = non_negative(epsilon, "epsilon")
            if at >= self.epsilon:
                return 0.0, 0.0
            low, high = bounds(lambda: -(ball(at) - ball(self.epsilon)).expm1() * self._truth())
            return max(0.0, float_down(low)), float_up(high)
        target = read_delta(delta)  # type: ignore[arg-type]
        if target == 0 or self.epsilon == 0:
            return float_down(self.epsilon), float_up(self.epsilon)
        # e^epsilon' = e^epsilon (1 - delta/q), q the chance of the truth
        least, _ = bounds(lambda: 1 - ball(target) / self._truth())
        if least <= 0:
            return 0.0, 0.0 if bounds(lambda: self._truth() - ball(target))[1] <= 0 else float_up(self.epsilon)
        low, high = bounds(lambda: ball(self.epsilon) + (1 - ball(target) / self._truth()).log())
        return max(0.0, float_down(low)), max(0.0, float_up(high))

    def privacy_loss(self) -> PLD:
        from dither.accounting.pld.closed_forms import TwoPoint
        from dither.accounting.pld.pld import PLD
        from dither.accounting.pld.three_point import ThreePoint

        two = self.values == 2
        distribution = TwoPoint(self.epsilon) if two else ThreePoint(self.epsilon, self.values)
        return PLD(((distribution, 1),), relation=self.relation)

    def _certain_loss(self) -> PLD:
        return self.privacy_loss()

    def _distribution_says_all(self) -> bool:
        return True

    def _truth(self) -> Ball:
        rare = (-ball(self.epsilon)).exp()
        return 1 / (1 + (self.values - 1) * rare)
