"""Optimal composition: the best that can be said of mechanisms about which only (epsilon, delta) is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.composition.calibration import calibrate
from dither.accounting.composition.composition import compose
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import read_delta
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.parameters import Number, non_negative, whole


@dataclass(frozen=True)
class Bracket:
    """A figure between two certified bounds."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:  # two bounds of which one must be wrong; nothing may rest on either
            raise ArithmeticError(f"bounds contradict each other: {self.lower} above {self.upper}")


def optimal(*, epsilon: Number, k: int, at: Number, delta: Number = 0) -> Bracket:
    """The smallest total epsilon, at the total delta `at`, of k mechanisms that are each (epsilon, delta)-DP.

    No theorem that knows no more can give less. Equal steps are a binomial distribution, evaluated exactly (Kairouz, Oh
    and Viswanath 2015, Theorem 3.3).

    >>> round(optimal(epsilon="0.1", k=100, at="1e-6").upper, 6)
    4.774568
    """
    from dither.accounting.pld.closed_forms import TwoPoint
    from dither.accounting.pld.pld import PLD
    from dither.accounting.pld.response_tails import binomial_epsilon

    each, count, target = non_negative(epsilon, "epsilon"), whole(k, "k", least=0), read_delta(at)
    lost = read_delta(delta)
    if not count:
        return Bracket(0.0, 0.0)
    low, high = PLD(((TwoPoint(each, lost), count),)).bounds_at(delta=target)
    if lost or not each or not math.isfinite(high) or high == 0:
        return Bracket(low, high)
    exact = binomial_epsilon(each, count, target, (low, high))
    return Bracket(low, high) if exact is None else Bracket(max(low, exact[0]), min(high, exact[1]))


def optimal_of(guarantees: Sequence[PureDP | ApproxDP], *, at: Number) -> Bracket:
    """The same for different (epsilon_i, delta_i): the exact figure is hard to compute, so it comes in bounds.

    Only the stated epsilon and delta of each are used (Murtagh and Vadhan 2016).
    """
    if not all(isinstance(guarantee, (PureDP, ApproxDP)) for guarantee in guarantees):
        raise ParameterError("optimal composition is about stated epsilons and deltas: give PureDP and ApproxDP only.")
    stated = [
        ApproxDP(g.epsilon, g.delta, relation=g.relation) if g.delta else PureDP(g.epsilon, g.relation)
        for g in guarantees
    ]
    loss = compose(stated).privacy_loss()
    if loss is None:
        raise ArithmeticError("stated guarantees have a worst pair")
    return Bracket(*loss.bounds_at(delta=at))


def optimal_inverse(*, epsilon: Number, k: int, at: Number) -> Fraction:
    """The largest pure epsilon per step, rounded down, with which k steps are (epsilon, at)-DP."""
    return 1 / calibrate("pure", ApproxDP(epsilon, at), whole(k, "k")).noise
