"""Amplification by sampling."""

from __future__ import annotations

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.exact.parameters import Number, positive
from dither.neighbours import Relation


def subsample(guarantee: Guarantee, rate: Number, *, replacement: bool | None = None) -> PureDP | ApproxDP:
    """The guarantee of a mechanism that sees each record with probability `rate`, independently.

    (ln(1 + q (e^epsilon - 1)), q delta), rounded up, under add_remove (Li, Qardaji and Su 2012). With
    replacement=False the sample has a fixed size, rate is its share of all records, and the relation is replace
    (Balle, Barthe and Gaboardi 2018). Only if the sample is secret, drawn afresh for every query, and what is sampled
    is what is protected (owners, not rows). For Gaussian noise `PLD.subsampled_gaussian` is far sharper.

    >>> round(float(subsample(PureDP(1), "0.01").epsilon), 6)
    0.017037
    """
    if replacement:
        raise ParameterError("a sample with replacement may hold a record several times, which is not covered.")
    fixed = replacement is False
    if guarantee.relation not in ((Relation.REPLACE,) if fixed else (Relation.ADD_REMOVE, Relation.OWNER)):
        raise ParameterError(
            f"Poisson sampling amplifies under add_remove or owner, samples of a fixed size (replacement=False) under "
            f"replace; the guarantee is under {guarantee.relation.value}."
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
