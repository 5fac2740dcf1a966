"""The largest keep probabilities that (epsilon, delta)-DP allows for a key, by how many owners have it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dither.exact.balls import Ball, ball, ceil_of, float_down, float_up, floor_of, lower, upper
from dither.exact.precision import precision
from dither.mechanisms.weights import flip


@dataclass(frozen=True)
class OptimalKeys:
    """p_0 = 0, p_(n+1) = min(e^eps p_n + delta, 1 - e^-eps (1 - p_n - delta), 1), in closed form.

    Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1.
    """

    epsilon: Fraction
    delta: Fraction

    @cached_property
    def turn(self) -> int:
        """Up to here p_n = delta (e^(n eps) - 1) / (e^eps - 1).

        The first rule is the smaller one as long as p_n <= (1 - delta) / (1 + e^eps).
        """

        def last() -> Ball:
            spread = (1 - ball(self.delta)) * (ball(self.epsilon) / 2).tanh() / ball(self.delta)
            return spread.log1p() / ball(self.epsilon)

        # Where the last n is undecided the two rules agree, so either will do.
        return 1 + floor_of(last)

    @cached_property
    def certain(self) -> int:
        """From here on every key is kept."""

        def steps() -> Ball:
            rest = 1 - self._rising(self.turn)
            return (rest * ball(self.epsilon).expm1() / ball(self.delta)).log1p() / ball(self.epsilon)

        return self.turn + max(1, ceil_of(steps))

    def keep(self, owners: int) -> Ball:
        """p_n at the working precision of the moment."""
        if owners <= 0:
            return ball(0)
        if owners >= self.certain:
            return ball(1)
        if owners <= self.turn:
            return self._rising(owners)
        fallen = -ball(self.epsilon) * (owners - self.turn)
        rest = fallen.exp() * (1 - self._rising(self.turn))
        return 1 - rest - ball(self.delta) * fallen.expm1() / ball(self.epsilon).expm1()

    def kept(self, owners: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Independent exact coins, one per key."""
        capped = np.clip(owners, 0, self.certain)
        distinct, where = np.unique(capped, return_inverse=True)
        with precision(128):
            balls = [self.keep(int(n)) for n in distinct]
            ends = [(lower(p), upper(p)) for p in balls]
        low = np.array([0.0 if end[0] is None else float_down(end[0]) for end in ends])
        high = np.array([1.0 if end[1] is None else float_up(end[1]) for end in ends])
        return flip(low[where], high[where], lambda i: self.keep(int(capped[i])))

    def _rising(self, owners: int) -> Ball:
        return ball(self.delta) * (ball(self.epsilon) * owners).expm1() / ball(self.epsilon).expm1()
