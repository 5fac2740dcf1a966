"""What an answer guarantees, as an object that composes with others."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting.composition.composition import compose
from dither.accounting.currency.currency import Currency
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.neighbours import Relation

if TYPE_CHECKING:
    from dither.accounting.guarantees.guarantee import Guarantee
    from dither.answer.answer import Answer

_ROUNDED = 1 + Fraction(1, 10**14)  # a delta is written in 15 digits


def bought(stated: Mapping[str, str], budget: Guarantee) -> Guarantee:
    """A stated price in the currency of the budget that paid it, for all rows of one owner."""
    currency = Currency.of(budget)
    price = currency.price_of(
        epsilon=stated.get("epsilon"), rho=stated.get("rho"), delta=Fraction(stated.get("delta", "0")) * _ROUNDED
    )
    if currency.kind == "zcdp":
        return ZCDP(price.cost, price.delta, Relation.OWNER)
    return _epsilon_delta(price.cost, price.delta)


def privacy_of(answer: Answer) -> Guarantee:
    """What all questions that it is made of guarantee together; what is computed from their answers adds nothing."""
    if not answer.bought:
        raise ParameterError(
            "this answer does not carry what it guarantees: it was read from a file, or kept by an older dither. Its "
            "price is .price, and the curator's budget has counted it."
        )
    return answer.bought[0] if len(answer.bought) == 1 else compose(answer.bought)


def written(guarantee: Guarantee) -> dict[str, str]:
    """As an answer's bytes have it."""
    names = ("rho", "delta") if isinstance(guarantee, ZCDP) else ("epsilon", "delta")
    return {name: str(getattr(guarantee, name)) for name in names}


def read(document: Mapping[str, str]) -> Guarantee:
    """What `written` has made."""
    delta = Fraction(document["delta"])
    if "rho" in document:
        return ZCDP(Fraction(document["rho"]), delta, Relation.OWNER)
    return _epsilon_delta(Fraction(document["epsilon"]), delta)


def _epsilon_delta(epsilon: Fraction, delta: Fraction) -> Guarantee:
    return ApproxDP(epsilon, delta, relation=Relation.OWNER) if delta else PureDP(epsilon, Relation.OWNER)
