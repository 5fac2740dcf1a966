"""The exact curve of k equal randomised responses: two binomial tails, in balls."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.exact.balls import Ball, ball, bounds, float_down, float_up

# Tails are cheap for few responses; past this a transform is faster and as good as exact.
FEW = 1000
_MOST_SEGMENTS = 400
# Past this many responses a tail takes too long far out; the bounds of the transform stand.
_MOST_RESPONSES = 10**6


def binomial_delta(epsilon: Fraction, count: int, at: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of delta at epsilon `at`: the best test answers yes if at most l responses were wrong."""
    if not at < count * epsilon:
        return Fraction(0), Fraction(0)
    most = _most_wrong(epsilon, count, at)
    low, high = bounds(lambda: _tail(epsilon, count, most) - ball(at).exp() * _tail(-epsilon, count, most))
    return max(low, Fraction(0)), max(high, Fraction(0))


def binomial_epsilon(
    epsilon: Fraction, count: int, delta: Fraction, near: tuple[float, float]
) -> tuple[float, float] | None:
    """Bounds of the epsilon at which `delta` is reached, known to lie within `near`; None if it is out of reach.

    delta(e) is the largest of the lines A_l - e^e B_l, so e(delta) is the largest ln((A_l - delta)/B_l).
    """
    if delta == 0:
        total = count * epsilon
        return float_down(total), float_up(total)
    if count > _MOST_RESPONSES:
        return None
    first = _most_wrong(epsilon, count, Fraction(near[1]))
    last = _most_wrong(epsilon, count, max(Fraction(near[0]), Fraction(0)))
    if last - first > _MOST_SEGMENTS:
        return None
    while last - first > 2:  # delta at the loss of so many wrong responses tells on which side of it epsilon lies
        wrong = (first + last) // 2
        low, high = binomial_delta(epsilon, count, (count - 2 * wrong) * epsilon)
        if high <= delta:
            first = wrong
        elif low >= delta:
            last = wrong
        else:
            break
    best = (0.0, 0.0)
    for wrong in range(max(first, 0), last + 1):
        low, high = bounds(lambda wrong=wrong: _tail(epsilon, count, wrong) - ball(delta))  # type: ignore[misc]
        if high <= 0:
            continue
        below, above = bounds(lambda wrong=wrong: _tail(-epsilon, count, wrong))  # type: ignore[misc]
        if below <= 0:  # smaller than any exact number we write out
            return None
        best = (
            max(best[0], _log(low / above, up=False)) if low > 0 else best[0],
            max(best[1], _log(high / below, up=True)),
        )
    return best


def around_the_mean(epsilon: Fraction, count: int, delta: Fraction) -> tuple[float, float]:
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


def _log(ratio: Fraction, *, up: bool) -> float:
    low, high = bounds(lambda: ball(ratio).log()) if ratio != 1 else (Fraction(0), Fraction(0))
    return float_up(high) if up else float_down(low)


def _most_wrong(epsilon: Fraction, count: int, at: Fraction) -> int:
    """The largest number of wrong responses whose loss (count - 2 wrong) epsilon is still above `at`."""
    return math.ceil((count - at / epsilon) / 2) - 1


def _tail(epsilon: Fraction, count: int, most: int) -> Ball:
    """P[at most `most` of `count` are wrong] when each is wrong with probability 1/(1 + e^epsilon)."""
    right = 1 / (1 + (-ball(epsilon)).exp())
    return right.beta_lower(ball(count - most), ball(most + 1), regularized=True)
