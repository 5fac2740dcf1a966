"""The bound of Azuma and Hoeffding, on which advanced composition rests."""

from __future__ import annotations

from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, exact, positive, probability, whole


def azuma(*, largest: Number, mean: Number, k: int, failure: Number) -> float:
    """What the sum of k numbers exceeds with probability at most `failure`, rounded up: k mean + z largest sqrt(k).

    Each number is at most `largest` in absolute value, and its expectation given those before it at most `mean`;
    z = sqrt(2 ln(1/failure)). With privacy losses, largest = epsilon and mean = epsilon tanh(epsilon/2), this is
    `advanced`. Azuma 1967.

    >>> from math import tanh
    >>> round(azuma(largest="0.1", mean=0.1 * tanh(0.05), k=100, failure="1e-6"), 6)
    5.756106
    """
    alpha, beta, count, chance = (
        positive(largest, "largest"),
        exact(mean, "mean"),
        whole(k, "k"),
        probability(failure, "failure"),
    )
    _, high = bounds(lambda: count * ball(beta) + (-2 * count * ball(chance).log()).sqrt() * ball(alpha))
    return float_up(high)
