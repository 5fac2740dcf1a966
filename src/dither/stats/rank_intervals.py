"""A quantile with an interval that part of its price buys: two more quantiles, so far off that they lie outside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dither.errors import ParameterError
from dither.mechanisms.codes import Grid
from dither.mechanisms.quantiles.candidates import Candidate, Standing, published
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile, ListedQuantiles
from dither.mechanisms.quantiles.quantile import Quantile, Quantiles
from dither.neighbours import Relation
from dither.stats.columns import present_codes, public_size
from dither.stats.estimate import Bounds, Estimate, plain
from dither.stats.price import Price

_LOW, _HALF = Fraction(1, 10), Fraction(1, 2)
BUY = "its error in units of the value depends on the data; interval=True buys an interval with half of the price."


class Ranking(Protocol):
    """Records in order, on a public grid of places that are chosen by rank."""

    @property
    def places(self) -> Grid: ...

    def size(self) -> int:
        """How many records there are: a secret under add_remove."""
        ...

    def value(self, q: Fraction, price: Price) -> int | Fraction:
        """The value of a quantile, at a price."""
        ...

    def place(self, q: Fraction, price: Price) -> int:
        """The place of a quantile, at a price."""
        ...

    def values(self, q: tuple[Fraction, ...], price: Price) -> tuple[int | Fraction, ...]:
        """The values of several quantiles, at a price for all."""
        ...

    def ends(self, q: list[Fraction], price: Price) -> list[int]:
        """The places of several quantiles, at a price for all."""
        ...

    def end(self, place: int, side: int) -> float | Fraction:
        """The number at the left (-1) or right (1) end of a place."""
        ...


@dataclass(frozen=True, eq=False)
class OnGrid:
    """Places are the multiples of a grid."""

    column: Any
    places: Grid
    relation: Relation

    def size(self) -> int:
        return int(present_codes(self.column, self.places, self.relation).size)

    def value(self, q: Fraction, price: Price) -> int | Fraction:
        found: int | Fraction = grid_quantile(q, self.places, price).release(self.column).value
        return found

    def place(self, q: Fraction, price: Price) -> int:
        return int(self.value(q, price) / self.places.step)

    def values(self, q: tuple[Fraction, ...], price: Price) -> tuple[int | Fraction, ...]:
        found: tuple[int | Fraction, ...] = grid_quantiles(q, self.places, price).release(self.column).value
        return found

    def ends(self, q: list[Fraction], price: Price) -> list[int]:
        return [int(value / self.places.step) for value in self.values(tuple(q), price)]

    def end(self, place: int, side: int) -> float | Fraction:
        return place * self.places.step


@dataclass(frozen=True, eq=False)
class InList:
    """Places are, in turn, the gap before a candidate and the candidate; the last one is the gap after all."""

    column: Any
    stands: Standing
    candidates: tuple[Candidate, ...]

    @property
    def places(self) -> Grid:
        return Grid(Fraction(1), 0, 2 * len(self.candidates))

    def size(self) -> int:
        return self.stands.size

    def value(self, q: Fraction, price: Price) -> int | Fraction:
        found: int | Fraction = listed_quantile(q, self.candidates, price).release(self.column).value
        return found

    def place(self, q: Fraction, price: Price) -> int:
        rule = grid_quantile(q, self.places, price)
        return int(rule.release_from_counts(np.arange(self.places.size), self.stands.places).value)

    def values(self, q: tuple[Fraction, ...], price: Price) -> tuple[int | Fraction, ...]:
        found: tuple[int | Fraction, ...] = listed_quantiles(q, self.candidates, price).release(self.column).value
        return found

    def ends(self, q: list[Fraction], price: Price) -> list[int]:
        rule = grid_quantiles(q, self.places, price)
        found = rule.release_from_counts(np.arange(self.places.size), self.stands.places).value
        return [int(place) for place in found]

    def end(self, place: int, side: int) -> float | Fraction:
        gap = place % 2 == 0
        beside = place // 2 - (gap and side < 0)
        if not 0 <= beside < len(self.candidates):
            return math.copysign(math.inf, side)
        return published(self.candidates[beside])


def grid_quantile(q: Fraction, codes: Grid, price: Price) -> Quantile:
    """The exponential mechanism on a grid."""
    if codes.size < 2:
        raise ParameterError("there is one answer only; give a smaller grid=.")
    return Quantile(q=q, epsilon=price.choosing_epsilon, relation=price.relation, **grid_ends(codes))


def listed_quantile(q: Fraction, candidates: Any, price: Price) -> ListedQuantile:
    """A choice among candidates: permute-and-flip, or the exponential mechanism where the price is in rho."""
    return ListedQuantile(q=q, candidates=candidates, relation=price.relation, **_stated(price))


def grid_quantiles(q: Any, codes: Grid, price: Price) -> Quantiles:
    """Several at once on a grid."""
    return Quantiles(q=q, relation=price.relation, **_stated(price), **grid_ends(codes))


def listed_quantiles(q: Any, candidates: Any, price: Price) -> ListedQuantiles:
    """Several at once among candidates."""
    return ListedQuantiles(q=q, candidates=candidates, relation=price.relation, **_stated(price))


def _stated(price: Price) -> dict[str, Any]:
    return {"rho": price.rho} if price.rho is not None else {"epsilon": price.epsilon}


def grid_ends(codes: Grid) -> dict[str, Any]:
    """The parameters of a mechanism on this grid."""
    return {"lower": codes.first * codes.step, "upper": codes.last * codes.step, "grid": codes.step}


def with_interval(ranking: Ranking, column: Any, q: Fraction, price: Price, sure: Fraction, method: str) -> Estimate:
    """Half of the price for the value, a quarter for each end; under add_remove a tenth for the number of records.

    An end is a place whose target rank is w + 1 before (after) q n, where w bounds its rank error: then at most
    q n - 1 records are below the lower end, so it is not above the record of rank ceil(q n); the upper end likewise.
    """
    size, paid, missed = _size(ranking, column, price, 1 - sure)
    value = ranking.value(q, price.part(paid / 2))
    places = ranking.places
    ends = [ranking.end(places.first, -1), ranking.end(places.last, 1)]
    for side, sign in enumerate((-1, 1)):
        end_price = price.part(paid / 4)
        reach = _rank_error(places, end_price, 1 - missed / 2) + 1
        shifted = q + sign * Fraction(reach) / Fraction(size) if size > 0 else Fraction(-1)
        if 0 < shifted < 1:
            ends[side] = ranking.end(ranking.place(shifted, end_price), sign)
    inside: Any = min(max(value, ends[0]), ends[1])
    bounds = _bought(plain(ends[0]), plain(ends[1]), sure)
    return Estimate(plain(inside), price.guarantee, method, inside, bounds, BUY, confidence=sure)


def with_intervals(
    ranking: Ranking, column: Any, q: tuple[Fraction, ...], price: Price, sure: Fraction, method: str
) -> Estimate:
    """Half of the price for the values, half for all ends together; under add_remove a tenth for the size.

    The ends are as many quantiles again, twice, found together: each at a target that is w + 1 ranks before (after) its
    own q n, where w bounds the rank errors of all of them. They rise with q, so values kept between them do too.
    """
    size, paid, missed = _size(ranking, column, price, 1 - sure)
    values = ranking.values(q, price.part(paid / 2))
    places, end_price = ranking.places, price.part(paid / 2)
    # The number of levels, and so the error, follows from how many ends there are at most.
    most = grid_quantiles([Fraction(i + 1, 2 * len(q) + 1) for i in range(2 * len(q))], places, end_price)
    reach = Fraction(math.ceil(most.rank_error(1 - missed))) + 1
    shifted = [[one + sign * reach / size if size > 0 else Fraction(-1) for one in q] for sign in (-1, 1)]
    wanted = sorted({one for side in shifted for one in side if 0 < one < 1})
    found = dict(zip(wanted, ranking.ends(wanted, end_price), strict=True)) if wanted else {}
    lows, highs = (
        [ranking.end(found.get(one, outer), sign) for one in side]
        for side, outer, sign in zip(shifted, (places.first, places.last), (-1, 1), strict=True)
    )
    inside: tuple[Any, ...] = tuple(
        min(max(value, low), high) for value, low, high in zip(values, lows, highs, strict=True)
    )
    bounds = _bought(tuple(map(plain, lows)), tuple(map(plain, highs)), sure)
    return Estimate(tuple(map(plain, inside)), price.guarantee, method, inside, bounds, BUY, confidence=sure)


def _size(ranking: Ranking, column: Any, price: Price, missed: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """A lower bound of the number of records, the share of the price that is left, and of what may be missed."""
    if price.relation is not Relation.ADD_REMOVE:
        return Fraction(public_size(column)), Fraction(1), missed
    noise = price.part(Fraction(1, 10)).noise(Fraction(1), Fraction(1), Fraction(1))
    noisy = noise.release(ranking.size()).value
    return noisy - noise.error(1 - missed / 3), Fraction(9, 10), missed * 2 / 3


def _bought(low: Any, high: Any, sure: Fraction) -> Bounds:
    def bounds(asked: Fraction) -> tuple[Any, Any]:
        if asked > sure:
            raise ParameterError(f"this interval was bought at confidence {float(sure):g}; no larger one can be shown.")
        return low, high

    return bounds


def _rank_error(codes: Grid, price: Price, sure: Fraction) -> int:
    """For every q: that of sensitivity 1, the largest, and of the heaviest public weights of the answers."""
    widest = replace(price, relation=Relation.REPLACE)
    return max(math.ceil(grid_quantile(q, codes, widest).rank_error(sure)) for q in (_LOW, _HALF, 1 - _LOW))
