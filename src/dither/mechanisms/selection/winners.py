"""Who wins, exactly: winning probabilities of permute-and-flip and of noisy max, as balls, per distinct gap."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball
from dither.mechanisms.scores import Scores

# Polynomials of this degree, one per distinct score: beyond it the sums take seconds.
MOST_CANDIDATES = 300


def permute_and_flip_distribution(scores: Scores, rate: Fraction) -> Callable[[], list[Ball]]:
    """P[r] = w_r times the integral over t in [0, 1] of the product of (1 - w_i t) over the others, w = exp(-rate gap).

    t is the time at which r is visited, the others being visited at independent uniform times: candidate i came
    earlier and was taken with probability w_i t.
    """
    _refuse_many(scores)

    def evaluate() -> list[Ball]:
        weights = [(-ball(rate * gap / scores.denominator)).exp() for gap in scores.tally]
        many = list(scores.tally.values())
        found = []
        for r, weight in enumerate(weights):
            others = _product((_line(1, -w), m - (i == r)) for i, (w, m) in enumerate(zip(weights, many, strict=True)))
            found.append(weight * others.integral()(1))
        return found

    return evaluate


def laplace_max_distribution(scores: Scores, scale: Fraction) -> Callable[[], list[Ball]]:
    """P[r] = the integral of f(v - u_r) times the product of F(v - u_i) over the others, f and F of Laplace noise.

    Between two neighbouring scores put z = exp(-(v - lower score) / scale), in (e, 1): the candidates below have
    F = 1 - (a/2) z, those above F = (b/2) / z, so the integral is that of a polynomial times a power of z.
    """
    _refuse_many(scores)

    def evaluate() -> list[Ball]:
        # Scores in units of the scale, from the lowest to the highest.
        gaps = list(scores.tally)
        places = [-ball(Fraction(gap, scores.denominator) / scale) for gap in reversed(gaps)]
        many = list(reversed(scores.tally.values()))
        found = []
        for r, own in enumerate(places):
            others = [m - (i == r) for i, m in enumerate(many)]
            total = _below_all(places, others, own)
            for j, (low, high) in enumerate([*pairwise(places), (places[-1], None)]):
                total += _between(places, others, own, r <= j, j, low, high)
            found.append(total)
        return list(reversed(found))

    return evaluate


def _below_all(places: list[Ball], others: list[int], own: Ball) -> Ball:
    """v below every score: every factor is exp(v - place)/2, so the integral of exp(n v) has a closed form."""
    total = sum(others) + 1
    exponent = sum((count * (places[0] - place) for place, count in zip(places, others, strict=True)), places[0] - own)
    return exponent.exp() / ball(2) ** total / total


def _between(
    places: list[Ball], others: list[int], own: Ball, own_is_below: bool, j: int, low: Ball, high: Ball | None
) -> Ball:
    """v from `low`, the j-th score, to the next one (to infinity if there is none)."""
    below = _product(
        (_line(1, -(place - low).exp() / 2), count)
        for place, count in zip(places[: j + 1], others[: j + 1], strict=True)
    )
    above = sum(others[j + 1 :])
    shrink = sum(
        (count * (low - place) for place, count in zip(places[j + 1 :], others[j + 1 :], strict=True)), ball(0)
    )
    # f = exp(-(v - own))/2 = exp(own - low) z / 2 below, exp(v - own)/2 = exp(low - own) / (2 z) above; dv = -dz/z.
    power = (0 if own_is_below else -2) - above
    factor = (shrink + (own - low if own_is_below else low - own)).exp() / ball(2) ** (above + 1)
    end = ball(0) if high is None else (low - high).exp()
    return factor * sum((below[k] * _integral_of_power(k + power, end) for k in range(len(below))), ball(0))


def _integral_of_power(power: int, start: Ball) -> Ball:
    """The integral of z^power from `start` to 1."""
    if power == -1:
        return -start.log()
    return (1 - start ** (power + 1)) / (power + 1)


def _product(factors: Any) -> Any:
    """The product of polynomials, each to its power."""
    from flint import arb_poly

    total = arb_poly([1])
    for polynomial, count in factors:
        if count:
            total = total * polynomial**count
    return total


def _line(constant: int, slope: Ball) -> Any:
    from flint import arb_poly

    return arb_poly([ball(constant), slope])


def _refuse_many(scores: Scores) -> None:
    if scores.gaps.size > MOST_CANDIDATES:
        raise ParameterError(
            f"exact winning probabilities are worked out for at most {MOST_CANDIDATES} candidates; "
            f"got {scores.gaps.size}."
        )
