"""Advanced composition and its inverse: what textbooks quote. `compose` and `optimal` are tighter and also proven."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import read_delta
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, float_down
from dither.exact.parameters import Number, non_negative, positive, probability, whole
from dither.neighbours import Relation

Mean = Literal["tight", "textbook"]

_LARGEST = 10**4


def advanced(
    *,
    epsilon: Number,
    k: int,
    delta_prime: Number,
    delta: Number = 0,
    mean: Mean = "tight",
    relation: Relation | str = Relation.ADD_REMOVE,
) -> ApproxDP:
    """k mechanisms, each (epsilon, delta)-DP, together are (epsilon', k delta + delta_prime)-DP; epsilon' rounded up.

    epsilon' = sqrt(2 k ln(1/delta_prime)) epsilon + k m, or the sum of the epsilons where that is smaller. The mean m
    is epsilon tanh(epsilon/2), or epsilon (e^epsilon - 1) with mean="textbook" (Dwork, Rothblum and Vadhan 2010).

    >>> round(float(advanced(epsilon="0.1", k=100, delta_prime="1e-6").epsilon), 6)
    5.756106
    """
    each, count, slack = (
        non_negative(epsilon, "epsilon"),
        whole(k, "k", least=0),
        probability(delta_prime, "delta_prime"),
    )
    held = Relation.read(relation)
    total_delta = count * read_delta(delta) + slack
    if not total_delta < 1:
        raise ParameterError(f"k delta + delta_prime must be less than 1; got {float(total_delta):g}.")
    if not count or not each:
        return ApproxDP(0, total_delta, relation=held)
    high = _bound_up(each, count, slack, mean)
    total = each * count if high is None else min(dyadic_up(high), each * count)
    return ApproxDP(total, total_delta, relation=held)


def advanced_inverse(*, epsilon: Number, k: int, delta_prime: Number, mean: Mean = "textbook") -> Fraction:
    """The largest epsilon per step, rounded down, with which `advanced` stays within a total epsilon for k steps.

    Found by bracketing the bound itself: the usual closed forms give up to half as much.

    >>> round(float(advanced_inverse(epsilon=1, k=100, delta_prime="1e-6")), 6)
    0.018376
    """
    total, count, slack = positive(epsilon, "epsilon"), whole(k, "k"), probability(delta_prime, "delta_prime")
    low, high = total / count, total  # basic composition is always within; one step alone never exceeds its total

    def within(each: Fraction) -> bool:
        high = _bound_up(each, count, slack, mean)
        return high is not None and high <= total

    if within(high):
        return high
    for _ in range(60):
        middle = Fraction(float_down((low + high) / 2))
        if not low < middle < high:
            break
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def _bound_up(epsilon: Fraction, count: int, slack: Fraction, mean: Mean) -> Fraction | None:
    """The bound rounded up; None where e^epsilon is past all that can be written out, and the bound useless."""
    if mean == "textbook" and epsilon > _LARGEST:
        return None
    return bounds(lambda: _bound(ball(epsilon), count, slack, mean))[1]


def _bound(epsilon: Ball, count: int, slack: Fraction, mean: Mean) -> Ball:
    if mean not in ("tight", "textbook"):
        raise ParameterError(f'mean must be "tight" or "textbook"; got {mean!r}.')
    drift = epsilon * (epsilon / 2).tanh() if mean == "tight" else epsilon * epsilon.expm1()
    return (-2 * count * ball(slack).log()).sqrt() * epsilon + count * drift
