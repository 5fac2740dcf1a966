"""Bounds bought with part of a price, for columns of which nobody can say what their values may be.

Records are counted by sign and magnitude in public bins between powers of two, each in one bin at most. The outermost
bins whose noisy counts stand clear of the noise say where the records are; everything after the counts is
post-processing. Few records, of which no bin stands clear, get the bin with the largest noisy count.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, cast

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, positive, probability
from dither.mechanisms.sealed_values import seal
from dither.neighbours import Relation
from dither.sensitivity.columns.reading import Reading
from dither.sensitivity.columns.records import _number
from dither.stats.columns import holds_integers
from dither.stats.estimate import Estimate, statistic
from dither.stats.kinds import number_column
from dither.stats.price import Price

_P = ParamSpec("_P")
# Magnitudes from 2^-32 on are told apart, by powers of two up to 2^60; what is smaller is about 0.
_LEAST, _MOST = -32, 60
_PLACES = _MOST - _LEAST
_CELLS = 2 * _PLACES + 1
_SURE = 1 - Fraction(1, 10**6)  # with so much probability no bin that is empty stands clear
_ENDS = ("lower", "upper")
_USUAL_SHARE = Fraction(1, 5)
_WIDEST = (-(Fraction(2) ** _MOST), Fraction(2) ** _MOST)
_REACH = 1 << 50  # steps of a stated grid; more would leave no room for the noise of a small price
_FINE = 1 << 20  # an end that is declared is at most so many times the width: the grids of all statistics reach there
_HIDDEN = "bounds are edges of public bins, chosen by noisy counts."


@statistic
def bounds(
    x: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
) -> Estimate:
    """Two powers of two, or 0, between which all but a few records of a column lie, at the stated price.

    About 20/epsilon records must lie in a bin between two powers of two for it to be noticed; what lies beyond the
    bounds is clamped by the statistics that are given them.

    >>> bounds([40.0] * 1000 + [70.0] * 1000, epsilon=1).value
    (32, 128)
    """
    price = Price.read(epsilon, delta, rho, relation)
    found = _bought(number_column(x), price)
    return Estimate(_shown(found), price.guarantee, "histogram", found, hidden=_HIDDEN)


@dataclass(frozen=True, eq=False, repr=False)
class BoughtEstimate(Estimate):
    """An estimate whose bounds were bought: `within` are the bounds, and `parts` says what each step cost."""

    within: tuple[int | float, int | float] = (0, 0)


class _Undeclared:
    """What lower= and upper= are if nothing is said of them. None is not nothing: it buys."""

    def __repr__(self) -> str:
        return "undeclared"


def buys_bounds(function: Callable[_P, Estimate]) -> Callable[_P, Estimate]:
    """A statistic that buys the bounds that are stated as None with bounds_share= of its price, a fifth if that is not
    said; with bounds_share= alone both of them."""
    signature = inspect.signature(function)

    @wraps(function)
    def buying(*given: _P.args, **stated: _P.kwargs) -> Estimate:
        asked = cast(dict[str, Any], stated)
        share, missing = asked.pop("bounds_share", None), [end for end in _ENDS if asked.get(end) is None]
        if share is None and not any(end in asked for end in missing):
            return function(*given, **stated)
        part = probability(_USUAL_SHARE if share is None else share, "bounds_share")
        if not missing or asked.get("candidates") is not None:
            raise ParameterError("bounds_share= buys lower= and upper=; give either.")
        usual = signature.parameters["relation"].default
        price = Price.read(asked.get("epsilon"), asked.get("delta"), asked.get("rho"), asked.get("relation", usual))
        declared = {end: exact(asked[end], end) for end in _ENDS if end not in missing}
        grid = asked.get("grid")
        step = positive(grid, "grid") if grid is not None else Fraction(1) if holds_integers(given[0]) else None
        for_bounds, rest = price.part(part), price.part(1 - part)
        asked.update(epsilon=rest.epsilon, delta=rest.delta, rho=rest.rho, grid=step)

        def within(ends: tuple[Fraction, Fraction], column: Any) -> Estimate:
            asked.update(lower=ends[0], upper=ends[1])
            return function(column, *given[1:], **stated)  # type: ignore[arg-type]

        within(_fitting(_WIDEST, declared, step), [0.0, 0.0])  # what is refused is refused before anything is bought
        found = _fitting(_bought(number_column(given[0]), for_bounds), declared, step)
        made = within(found, given[0])
        known = {
            name: getattr(made, name)
            for name in ("value", "method", "exact", "bounds", "hidden", "scale_", "confidence")
        }
        paid = {"bounds": for_bounds.guarantee, function.__name__.rstrip("_"): rest.guarantee}
        return BoughtEstimate(**known, guarantee=price.guarantee, parts=paid, within=_shown(found))

    parameters = [
        one.replace(default=_Undeclared()) if one.name in _ENDS else one for one in signature.parameters.values()
    ]
    buying.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return buying


def _fitting(
    found: tuple[Fraction, Fraction], declared: dict[str, Fraction], step: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Bounds that every statistic takes, whatever was found: noise and data decide it, so nothing may be refused after.

    They are moved outward to the grid, if one is stated, as far as it reaches; an end that is declared stays, with room
    beside it.
    """
    low, high = declared.get("lower", found[0]), declared.get("upper", found[1])
    if step is not None:
        most = step * _REACH
        low, high = (max(-most, min(most, end * step)) for end in (math.floor(low / step), math.ceil(high / step)))
        low, high = declared.get("lower", low), declared.get("upper", high)
    largest = max(map(abs, declared.values()), default=Fraction(0))
    room = max(Fraction(2) ** _LEAST, 2 * (step or 0), largest / _FINE)  # two steps: an end need not lie on the grid
    if high - low < room and "upper" not in declared:
        high = low + room
    elif high - low < room:
        low = high - room
    return low, high


def _bought(column: Reading, price: Price) -> tuple[Fraction, Fraction]:
    """The outer edges of the first and the last bin that stand clear of the noise."""
    one = Fraction(1 if price.relation is Relation.ADD_REMOVE else 2)
    noise = price.noise(one, one, Fraction(1))
    places = _bins(column)
    counts = np.bincount(places[places >= 0], minlength=_CELLS)
    noisy = np.asarray(noise.release(seal(counts.tolist())).value)
    clear = np.flatnonzero(noisy > int(noise.error(_SURE, count=_CELLS)))
    first, last = (int(clear[0]), int(clear[-1])) if clear.size else (int(noisy.argmax()),) * 2
    return _edges(first)[0], _edges(last)[1]


def _shown(ends: tuple[Fraction, Fraction]) -> tuple[int | float, int | float]:
    low, high = (end.numerator if end.denominator == 1 else float(end) for end in ends)
    return low, high


def _bins(column: Reading) -> npt.NDArray[np.int64]:
    """The bin of each record by itself, from the most negative to the largest; -1 for what is missing."""
    if column.values.dtype.kind == "O":
        values = np.array([_float(item) for item in column.elements()], np.float64)
    else:
        values = column.values.astype(np.float64)
        values = values if column.null is None else np.where(column.null, np.nan, values)
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 2.0**_MOST))
    # |x| lies in [2^(e-1), 2^e).
    rank = np.where(values == 0, 0, np.clip(exponent.astype(np.int64) - _LEAST, 0, _PLACES))
    return np.where(np.isnan(values), -1, _PLACES + np.where(values < 0, -rank, rank))


def _float(item: Any) -> float:
    number = _number(item)
    if number is None:
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _edges(place: int) -> tuple[Fraction, Fraction]:
    """The lower and the upper edge of a bin; that around 0 reaches to both sides."""
    rank = abs(place - _PLACES)
    outer = Fraction(2) ** (_LEAST + rank)
    if not rank:
        return -outer, outer
    return (outer / 2, outer) if place > _PLACES else (-outer, -outer / 2)
