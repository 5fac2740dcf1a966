"""Laplace or Gaussian noise, where a price in epsilon and delta can buy either.

Gaussian noise on all measures together is one Gaussian mechanism: with standard deviations s_i for sensitivities D_i in
L2, its curve is that of mu^2 = sum of D_i^2 / s_i^2. So a price (epsilon, delta) buys the rho = mu^2 / 2 whose curve
goes through it, and measures get shares of that rho (docs/proofs/groups.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.gaussian_curve import epsilon_of_gaussian, price_in_rho
from dither.sql.bounding.aggregations import measures
from dither.sql.plan.nodes import Choice
from dither.sql.plan.question import Question
from dither.sql.planner.passes import Divided, decide
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.strategy import Strategy

WORTH_IT = 0.9  # delta is spent for it: the error, or epsilon, must be at least so much smaller
_DIGITS = 5  # of an epsilon that was found


def can_be_gaussian(question: Question) -> bool:
    """Whether noise is all that an answer needs: values and keys are not chosen by adding Gaussian noise."""
    return question.public and not any(isinstance(measure, Choice) for measure in measures(question))


def decide_noise(
    question: Question,
    kind: str,
    cost: Fraction,
    delta: Fraction | None,
    profile: Profile | None,
    rows_per_owner: int | None = None,
    adjust: bool = True,
) -> Strategy:
    """How to answer a question at this price; with Gaussian noise if `delta` may be paid for it and is worth it."""
    plain = decide(question, kind, cost, profile, rows_per_owner, adjust)
    if delta is None:
        return plain
    if not can_be_gaussian(question):
        return replace(
            plain, why=_joined(plain.why, "No delta is paid: values that are chosen have no Gaussian noise.")
        )
    rho = price_in_rho(cost, delta)
    if not rho:
        return plain
    other = replace(decide(question, "zcdp", rho, profile, rows_per_owner, adjust), gaussian=True)
    if plain.promised is not None and other.promised is not None:
        errors = plain.promised, other.promised
    else:
        errors = (_noise(question, plain, kind, cost, profile), _noise(question, other, "zcdp", rho, profile))
    if errors[1] < WORTH_IT**2 * errors[0]:
        return replace(other, why=_joined(other.why, _gaussian(*errors)))
    return replace(plain, why=_joined(plain.why, _laplace(*errors)))


def _noise(question: Question, strategy: Strategy, kind: str, cost: Fraction, profile: Profile | None) -> float:
    """The squared errors of all measures by noise alone, weighted as the split of the price weighs them."""
    return sum(_variances(Divided.of(question, strategy, kind, profile), float(cost)))


def _variances(divided: Divided, cost: float) -> Iterator[float]:
    even = (Fraction(1, len(divided.needed)),) * len(divided.needed)
    for measure, moved, share in zip(divided.needed, divided.moved, divided.shares or even, strict=True):
        paid, weight = cost * float(share), divided.weights.get(measure, 1.0)
        if divided.kind == "zcdp":
            yield weight * float(moved.l2_squared) / (2 * paid)
        else:
            yield weight * 2 * (float(moved.l1) / paid) ** 2


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _gaussian(laplace: float, gaussian: float) -> str:
    times = math.sqrt(laplace / gaussian)
    return (
        f"Noise is Gaussian, for which delta is paid: by these estimates Laplace noise would err {times:.3g} times as "
        "much."
    )


def _laplace(laplace: float, gaussian: float) -> str:
    times = math.sqrt(gaussian / laplace)
    hardly = ", which is too little less to pay a delta for" if times < 1 else ""
    return (
        f"Noise is Laplace and no delta is paid: by these estimates Gaussian noise would err {times:.3g} times as "
        f"much{hardly}."
    )


def epsilon_with(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon, rounded up to a few digits, that buys this rho together with delta."""
    value = Fraction(max(epsilon_of_gaussian(2 * (rho + COST_UNIT), delta), 1e-9))
    place = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    epsilon = math.ceil(value / place) * place
    while price_in_rho(epsilon, delta) < rho:
        epsilon += place
    return epsilon
