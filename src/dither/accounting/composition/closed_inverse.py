"""Closed forms for the epsilon of each of k steps, as quoted. `advanced_inverse` and `optimal_inverse` give more."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dither.accounting.composition.advanced import advanced_inverse
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds
from dither.exact.parameters import Number, positive, probability, whole

Rule = Literal["textbook", "short root"]

_UNDER_THE_ROOT = {"textbook": 2, "short root": 1}


def closed_inverse(*, epsilon: Number, k: int, delta_prime: Number, rule: Rule = "textbook") -> Fraction:
    """An epsilon per step, rounded down, with which k pure steps are (epsilon, delta_prime)-DP by `advanced`.

    rule "textbook": epsilon / (2 sqrt(2 k ln(1/delta_prime))) (Dwork and Roth 2014, Corollary 3.21); "short root" drops
    the 2 under the root, as often printed: larger, and not implied by that corollary. Either is refused where the
    bound of `advanced` does not confirm it.

    >>> round(float(closed_inverse(epsilon=1, k=100, delta_prime="1e-6")), 6)
    0.009512
    """
    total, count, slack = positive(epsilon, "epsilon"), whole(k, "k"), probability(delta_prime, "delta_prime")
    if rule not in _UNDER_THE_ROOT:
        raise ParameterError(f'rule must be "textbook" or "short root"; got {rule!r}.')
    factor = _UNDER_THE_ROOT[rule] * count
    each, _ = bounds(lambda: ball(total) / (2 * (-factor * ball(slack).log()).sqrt()))
    if not each <= advanced_inverse(epsilon=total, k=count, delta_prime=slack):
        raise ParameterError(
            f"the closed form {rule!r} exceeds what advanced composition allows for this epsilon, k and delta_prime; "
            "use advanced_inverse or optimal_inverse."
        )
    return each
