"""Laplace or Gaussian noise, where a price in epsilon and delta can buy either.

Gaussian noise on all measures together is one Gaussian mechanism: with standard deviations s_i for sensitivities D_i in
L2, its curve is that of mu^2 = sum of D_i^2 / s_i^2. So a price (epsilon, delta) buys the rho = mu^2 / 2 whose curve
goes through it, and measures get shares of that rho (docs/proofs/groups.md).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.gaussian_curve import epsilon_of_gaussian, price_in_rho
from dither.sql.bounding.aggregations import measures
from dither.sql.plan.nodes import Choice
from dither.sql.plan.question import Question
from dither.sql.planner.candidate import Plan, reasons
from dither.sql.planner.passes import decided
from dither.sql.planner.strategy import Strategy

WORTH_IT = 0.9  # delta is spent for it: intervals, or epsilon, must be at least so much shorter
_DIGITS = 5  # of an epsilon that was found


def can_be_gaussian(question: Question) -> bool:
    """Whether noise is all that an answer needs: values and keys are not chosen by adding Gaussian noise."""
    return question.public and not any(isinstance(measure, Choice) for measure in measures(question))


def decide_noise(plan: Plan, delta: Fraction | None) -> Strategy:
    """How to answer a question at its price; with Gaussian noise if `delta` may be paid for it and is worth it."""
    plain = decided(plan)
    if delta is None:
        return _said(plain)
    if not can_be_gaussian(plan.question):
        return _said(plain, "No delta is paid: values that are chosen have no Gaussian noise.")
    rho = price_in_rho(plan.cost, delta)
    if not rho:
        return _said(plain)
    other = decided(replace(plan, kind="zcdp", cost=rho)).deciding(gaussian=True)
    pairs = zip(other.lengths, plain.lengths, strict=True)
    times = sum(1.0 if math.isinf(short + long) else short / long for short, long in pairs) / len(plain.lengths)
    if times < WORTH_IT:
        told = f"with Laplace noise, intervals would be {1 / times:.3g} times as long"
        return _said(other, f"Noise is Gaussian, for which delta is paid: {told}.")
    hardly = ", which is too little less to pay a delta for" if times < 1 else ""
    told = f"Noise is Laplace and no delta is paid: with Gaussian noise, intervals would be {times:.3g} times as long"
    return _said(plain, f"{told}{hardly}.")


def _said(plan: Plan, noise: str = "") -> Strategy:
    return replace(plan.strategy, why=" ".join(filter(None, (*reasons(plan), noise))))


def epsilon_with(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon, rounded up to a few digits, that buys this rho together with delta."""
    value = Fraction(max(epsilon_of_gaussian(2 * (rho + COST_UNIT), delta), 1e-9))
    place = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    epsilon = math.ceil(value / place) * place
    while price_in_rho(epsilon, delta) < rho:
        epsilon += place
    return epsilon
