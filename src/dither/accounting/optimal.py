"""Optimal composition: the best that can be said of mechanisms about which only (epsilon, delta) is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.approx import ApproxDP
from dither.accounting.balls import Ball, ball, bounds, float_down, float_up
from dither.accounting.composition import compose
from dither.accounting.pld.closed import TwoPoint
from dither.accounting.pld.exact import binomial_epsilon
from dither.accounting.pld.pld import PLD
from dither.accounting.pure import PureDP, _delta
from dither.errors import ParameterError
from dither.parameters import Number, non_negative, whole


@dataclass(frozen=True)
class Bracket:
    """A figure between two certified bounds."""

    lower: float
    upper: float


def optimal(*, epsilon: Number, k: int, at: Number, delta: Number = 0) -> Bracket:
    """The smallest total epsilon, at the total delta `at`, of k mechanisms that are each (epsilon, delta)-DP.

    No theorem that knows no more can give less. Equal steps are a binomial law, evaluated exactly (Kairouz, Oh and
    Viswanath 2015, Theorem 3.3).

    >>> round(optimal(epsilon="0.1", k=100, at="1e-6").upper, 6)
    4.774568
    """
    each, count, target = non_negative(epsilon, "epsilon"), whole(k, "k", least=0), _delta(at)
    lost = _delta(delta)
    if not count:
        return Bracket(0.0, 0.0)
    low, high = PLD(((TwoPoint(each, lost), count),)).bounds_at(delta=target)
    if not lost and each and low < high:
        least, most = _around_the_mean(each, count, target)
        high = min(high, most)
        low = max(low, min(high, least))
    if lost or not each or not math.isfinite(high) or high == 0:
        return Bracket(low, high)
    exact = binomial_epsilon(each, count, target, (low, high))
    return Bracket(low, high) if exact is None else Bracket(max(low, exact[0]), min(high, exact[1]))


def _around_the_mean(epsilon: Fraction, count: int, delta: Fraction) -> tuple[float, float]:
    """Bounds that are sharp for very many steps, whose loss is hardly ever far from its mean m.

    Above: delta(e) <= P[L > e], and by Hoeffding P[L > m + c] <= e^(-c^2/(2 k epsilon^2)). Below: by Cantelli's
    inequality P[L <= m - c] <= v/(v + c^2), v the variance, and delta(e) >= P[L > e + a] (1 - e^-a) for all a > 0. With
    1 - e^-a = (1 + delta)/2 and c^2 = 2 delta v/(1 - delta) their product is delta, at e = m - c - a.
    """

    def mean() -> Ball:
        return count * ball(epsilon) * (ball(epsilon) / 2).tanh()

    def below() -> Ball:
        variance = count * (ball(epsilon) / (ball(epsilon) / 2).cosh()) ** 2
        away = (2 * ball(delta) * variance / (1 - ball(delta))).sqrt() if delta else ball(0)
        return mean() - away + (1 - ball(delta)).log() - ball(2).log()

    def above() -> Ball:
        return mean() + ball(epsilon) * (-2 * count * ball(delta).log()).sqrt()

    most = float_up(bounds(above)[1]) if delta else math.inf
    return max(0.0, float_down(bounds(below)[0])), most


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
    from dither.accounting.calibrate import calibrate

    return 1 / calibrate("pure", ApproxDP(epsilon, at), whole(k, "k")).noise
