"""Amplification by Poisson sampling."""

from __future__ import annotations

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.exact.parameters import Number, positive
from dither.neighbours import Relation


def subsample(guarantee: Guarantee, rate: Number) -> PureDP | ApproxDP:
    """The guarantee of a mechanism that sees each record with probability `rate`, independently.

    (ln(1 + q (e^epsilon - 1)), q delta), rounded up, under add_remove (Li, Qardaji and Su 2012). Only if the sample is
    secret, drawn afresh for every query, and what is sampled is what is protected (owners, not rows). For Gaussian
    noise `PLD.subsampled_gaussian` is far sharper.

    >>> round(float(subsample(PureDP(1), "0.01").epsilon), 6)
    0.017037
    """
    if guarantee.relation not in (Relation.ADD_REMOVE, Relation.OWNER):
        raise ParameterError(
            f"Poisson sampling amplifies under add_remove or owner; the guarantee is under {guarantee.relation.value}."
        )
    chance = positive(rate, "rate")
    if not chance <= 1:
        raise ParameterError(f"rate must be at most 1; got {float(chance):g}.")
    stated = guarantee.basic()
    epsilon = stated.epsilon
    if epsilon and chance < 1:
        _, high = bounds(lambda: (ball(chance) * ball(epsilon).expm1()).log1p() if epsilon < 10**4 else ball(epsilon))
        epsilon = min(epsilon, dyadic_up(high))
    if not stated.delta:
        return PureDP(epsilon, guarantee.relation)
    return ApproxDP(epsilon, stated.delta * chance, relation=guarantee.relation)
