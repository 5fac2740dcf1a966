"""Group privacy: what a guarantee about one record says about several."""

from __future__ import annotations

from fractions import Fraction
from typing import overload

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.exact.parameters import whole
from dither.neighbours import Relation


@overload
def group(guarantee: PureDP, size: int) -> PureDP: ...
@overload
def group(guarantee: GDP, size: int) -> GDP: ...
@overload
def group(guarantee: ZCDP, size: int) -> ZCDP: ...
@overload
def group(guarantee: Guarantee, size: int) -> Guarantee: ...
def group(guarantee: Guarantee, size: int) -> Guarantee:
    """The same mechanism for datasets that differ in `size` records.

    epsilon grows k-fold, rho k^2-fold, mu k-fold, and (epsilon, delta) becomes (k epsilon,
    delta (e^(k epsilon) - 1)/(e^epsilon - 1)); for Gaussian noise the far better mu is used.

    >>> group(PureDP("0.1"), 5).epsilon
    Fraction(1, 2)
    """
    many = whole(size, "the size of the group")
    if isinstance(guarantee, PureDP):
        return PureDP(guarantee.epsilon * many, guarantee.relation)
    if guarantee.gaussian_mu_squared is not None:
        return GDP(mu_squared=guarantee.gaussian_mu_squared * many**2, relation=guarantee.relation)
    if isinstance(guarantee, ZCDP):
        if guarantee.delta and many > 1:
            raise ParameterError("approximate zCDP (with a delta) has no group bound here; state it as ApproxDP.")
        return ZCDP(guarantee.rho * many**2, guarantee.delta, guarantee.relation)
    if isinstance(guarantee, ApproxDP):
        delta = _grown(guarantee.epsilon, guarantee.delta, many)
        if not delta < 1:
            raise ParameterError(
                f"for a group of {many} delta grows past 1, which promises nothing; take a smaller group or delta."
            )
        return ApproxDP(guarantee.epsilon * many, delta, relation=guarantee.relation)
    raise ParameterError(f"there is no group bound for {type(guarantee).__name__}; give PureDP, ApproxDP, ZCDP or GDP.")


def replace_from_add_remove(guarantee: Guarantee) -> Guarantee:
    """The guarantee under replace, a deletion and an insertion: (2 epsilon, (1 + e^epsilon) delta), 4 rho, 2 mu."""
    if guarantee.relation is not Relation.ADD_REMOVE:
        raise ParameterError(
            f"only a guarantee under add_remove implies one under replace; got {guarantee.relation.value}."
        )
    pair = group(guarantee, 2)
    if isinstance(pair, PureDP):
        return PureDP(pair.epsilon, Relation.REPLACE)
    if isinstance(pair, GDP):
        return GDP(mu_squared=pair.mu_squared, relation=Relation.REPLACE)
    if isinstance(pair, ZCDP):
        return ZCDP(pair.rho, pair.delta, Relation.REPLACE)
    stated = pair.basic()
    return ApproxDP(stated.epsilon, stated.delta, relation=Relation.REPLACE)


def _grown(epsilon: Fraction, delta: Fraction, many: int) -> Fraction:
    if epsilon == 0 or many == 1:
        return delta * many
    if epsilon * (many - 1) > 10**4:  # far past 1 for every delta that can be stated
        return Fraction(1)
    _, high = bounds(lambda: ball(delta) * (ball(epsilon) * many).expm1() / ball(epsilon).expm1())
    return dyadic_up(high)
