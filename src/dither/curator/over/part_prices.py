"""One price for all questions of a text: each gets a share of it, and all together cost it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting.currency.currency import Currency, Price
from dither.errors import ParameterError
from dither.exact.parameters import positive
from dither.sql.over.over_question import Part
from dither.sql.over.price_shares import price_shares

if TYPE_CHECKING:
    from dither.sql.pricing.price import PricedQuestion


@dataclass(frozen=True)
class PartPrices:
    """The price as it was stated, in the currency of the budget that pays it."""

    currency: Currency
    stated: Mapping[str, Any]

    def split(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """What is stated for each part: all of it for an only one, which is then asked as if alone."""
        stated = dict(self.stated)
        if len(parts) == 1:
            return [stated]
        deltas = self._deltas(parts, stated.pop("delta", None))
        if stated.get("error") is not None:
            return [{**stated, "delta": delta} for delta in deltas]
        epsilon, rho = stated.pop("epsilon", None), stated.pop("rho", None)
        stated.pop("error", None)
        if (epsilon is None) == (rho is None):
            raise ParameterError('state the price once: epsilon="0.5", or rho= under a zCDP budget; or error= instead.')
        total = self.currency.price_of(
            epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
            rho=None if rho is None else positive(rho, "rho"),
        )
        name = "rho" if self.currency.kind == "zcdp" else "epsilon"
        shares = price_shares(parts, self.currency.kind)
        return [
            {**stated, name: total.cost * share, "delta": delta} for share, delta in zip(shares, deltas, strict=True)
        ]

    def _deltas(self, parts: Sequence[Part], delta: Any) -> list[Fraction | None]:
        """The delta of each part: what is stated, or set aside for keys from the data, in even parts."""
        private = [not part.question.public for part in parts]
        if delta is not None and not any(private):
            return [positive(delta, "delta") / len(parts) for _ in parts]
        if not any(private):
            return [None for _ in parts]
        whole = self.currency.with_keys(Price(Fraction(1)), delta).delta
        return [whole / sum(private) if one else None for one in private]

    @staticmethod
    def total(priced: Sequence[PricedQuestion], stated: Mapping[str, Any]) -> dict[str, str]:
        """The whole price in words: as it was stated, or what an error comes to, with the delta that is charged."""
        names = ("epsilon", "rho")
        found = {name: str(stated[name]) for name in names if stated.get(name) is not None}
        if not found:
            found = {priced[0].currency: _decimal(sum((one.price.cost for one in priced), Fraction(0)))}
        delta = sum((one.price.delta for one in priced), Fraction(0))
        return {**found, "delta": f"{float(delta):.15g}"} if delta else found


def _decimal(cost: Fraction) -> str:
    return f"{Decimal(cost.numerator) / Decimal(cost.denominator):f}"
