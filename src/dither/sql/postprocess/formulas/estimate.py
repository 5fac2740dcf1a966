"""A number per group that is known up to noise: the value shown, and ends between which the exact one lies.

Whole numbers of units stay exact integers; everything else is float64, its ends rounded outward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.exact.digits import float_above

if TYPE_CHECKING:
    from dither.sql.postprocess.value_column import ValueColumn

Integers = NDArray[Any]  # int64, or Python ints in an object array
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_EXACT_FLOATS = 2**53
_NO = np.zeros(1, dtype=bool)


@dataclass(frozen=True, eq=False)
class Estimate:
    """One cell a group, or one cell for all of them.

    Integers count units of 10**-decimals and are never NULL; `decimals` None says float64, in which NaN is NULL. If the
    exact result is defined it lies in [lower, upper]; where `maybe_null` it may be undefined. `whole`: if defined, it
    is a whole number that is not negative. `factors` bounds how many numbers of 130 bits were multiplied.
    """

    values: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    decimals: int | None = None
    maybe_null: Flags = field(default_factory=lambda: _NO)
    whole: bool = False
    factors: int = 1
    fixed: bool = False  # the same number in every group, written in the query

    @property
    def is_float(self) -> bool:
        return self.decimals is None

    @property
    def null(self) -> Flags:
        """Where the value shown is NULL."""
        return np.isnan(self.values) if self.is_float else np.zeros(self.values.shape, dtype=bool)


def constant(value: int, decimals: int = 0) -> Estimate:
    """value * 10**-decimals in every group."""
    cell = integers([value])
    return Estimate(cell, cell, cell, decimals, fixed=True)


def nothing() -> Estimate:
    """NULL in every group."""
    return floats(np.full(1, np.nan), np.full(1, -np.inf), np.full(1, np.inf), np.ones(1, dtype=bool))


def floats(values: Floats, lower: Floats, upper: Floats, maybe_null: Flags = _NO) -> Estimate:
    """An estimate in float64: what is not finite is NULL, and an end that is no number is no bound."""
    values = np.where(np.isfinite(values), values, np.nan)
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return Estimate(values, lower, upper, None, maybe_null)


class Finished(Protocol):
    """A column of an answer, as aggregates finish it and as it is shown."""

    @property
    def values(self) -> NDArray[Any]: ...
    @property
    def decimals(self) -> int: ...
    @property
    def half_width(self) -> Fraction | None: ...
    @property
    def lower(self) -> NDArray[Any] | None: ...
    @property
    def upper(self) -> NDArray[Any] | None: ...


def from_column(column: Finished, *, whole: bool = False, maybe_null: Flags | None = None) -> Estimate:
    """A finished column of an aggregate. Without a stated error every value is possible.

    `maybe_null` is where the exact value may be NULL though one is shown; whole numbers with ends never are.
    """
    values = column.values
    if values.dtype != np.float64 and column.half_width is not None:
        width = math.ceil(column.half_width * 10**column.decimals)
        return Estimate(values, shift(values, -width), shift(values, width), column.decimals, whole=whole)
    lower, upper = column.lower, column.upper
    exact = values.dtype != np.float64 and all(end is not None and end.dtype != np.float64 for end in (lower, upper))
    if exact and lower is not None and upper is not None:
        return Estimate(values, lower, upper, column.decimals, whole=whole)
    decimals = 0 if values.dtype == np.float64 else column.decimals
    shown = to_float(values, decimals) if values.dtype != np.float64 else values
    if column.half_width is not None:
        width_shown = float_above(column.half_width)
        lower, upper = below(shown - width_shown), above(shown + width_shown)
    elif lower is not None and upper is not None:
        lower, upper = _end(lower, decimals, below), _end(upper, decimals, above)
    else:
        lower, upper = np.full(len(values), -np.inf), np.full(len(values), np.inf)
    null = np.isnan(shown) if maybe_null is None else np.isnan(shown) | maybe_null
    return replace(floats(shown, lower, upper, null), whole=whole)


def within(estimate: Estimate, possible: tuple[float, float] | None) -> Estimate:
    """The same with ends on the side of zero that declarations allow: a count is not negative."""
    lower, upper = estimate.lower, estimate.upper
    if possible is not None and possible[0] == 0:
        lower, upper = np.maximum(lower, 0), np.maximum(upper, 0)
    if possible is not None and possible[1] == 0:
        lower, upper = np.minimum(lower, 0), np.minimum(upper, 0)
    return replace(estimate, lower=lower, upper=upper)


def to_column(name: str, estimate: Estimate, groups: int) -> ValueColumn:
    """The estimate as a finished column with one cell a group."""
    from dither.sql.postprocess.value_column import ValueColumn

    values, lower, upper = (
        np.array(np.broadcast_to(part, (groups,))) for part in (estimate.values, estimate.lower, estimate.upper)
    )
    return ValueColumn(name, values, decimals=estimate.decimals or 0, lower=lower, upper=upper)


def as_float(estimate: Estimate) -> Estimate:
    """The same in float64, its ends rounded outward."""
    if estimate.decimals is None:
        return estimate
    values, (lower, upper) = (
        to_float(estimate.values, estimate.decimals),
        (_end(end, estimate.decimals, outward) for end, outward in ((estimate.lower, below), (estimate.upper, above))),
    )
    return replace(estimate, values=values, lower=lower, upper=upper, decimals=None)


def aligned(*estimates: Estimate) -> list[Estimate]:
    """All in float64, or all in integers of the same units."""
    if any(estimate.is_float for estimate in estimates):
        return [as_float(estimate) for estimate in estimates]
    most = max(estimate.decimals or 0 for estimate in estimates)
    return [_finer(estimate, most - (estimate.decimals or 0)) for estimate in estimates]


def _finer(estimate: Estimate, digits: int) -> Estimate:
    if not digits:
        return estimate
    unit = integers([10**digits])
    values, lower, upper = (times(part, unit) for part in (estimate.values, estimate.lower, estimate.upper))
    return replace(estimate, values=values, lower=lower, upper=upper, decimals=(estimate.decimals or 0) + digits)


# -- integers that cannot wrap around ---------------------------------------------------------------------------------


def integers(numbers: list[int]) -> Integers:
    """int64 where all fit, Python ints where not."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.astype(np.int64) if all(-(2**63) <= number < 2**63 for number in numbers) else array


def plus(left: Integers, right: Integers) -> Integers:
    if left.dtype == right.dtype == np.int64 and _size(left) + _size(right) < 2**63:
        return left + right
    return np.asarray(left.astype(object) + right.astype(object), dtype=object)


def times(left: Integers, right: Integers) -> Integers:
    if left.dtype == right.dtype == np.int64 and _size(left) * _size(right) < 2**63:
        return left * right
    return np.asarray(left.astype(object) * right.astype(object), dtype=object)


def shift(numbers: Integers, by: int) -> Integers:
    return plus(numbers, integers([by]))


def _size(numbers: Integers) -> int:
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if len(numbers) else 0


# -- floats rounded outward -------------------------------------------------------------------------------------------


def below(numbers: Floats, ulps: int = 1) -> Floats:
    """Less than anything that rounds to these numbers with an error of that many units in the last place."""
    slack = np.where(np.isinf(numbers), 0.0, np.abs(numbers) * ((ulps - 1) * 2.0**-52)) if ulps > 1 else 0.0
    return np.asarray(np.nextafter(numbers - slack, -np.inf), dtype=np.float64)


def above(numbers: Floats, ulps: int = 1) -> Floats:
    """More than anything that rounds to these numbers with an error of that many units in the last place."""
    return -below(-numbers, ulps)


def to_float(numbers: Integers, decimals: int) -> Floats:
    """numbers * 10**-decimals, within three units in the last place; infinite where a float cannot say it."""
    try:
        converted = numbers.astype(np.float64)
    except OverflowError:
        converted = np.array([_nearest(number) for number in numbers.tolist()], dtype=np.float64)
    return np.asarray(converted / 10.0**decimals, dtype=np.float64)


def _nearest(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _end(numbers: NDArray[Any], decimals: int, outward: Any) -> Floats:
    """Ends in units as ends in shown units, rounded outward unless they are small whole numbers."""
    if numbers.dtype == np.float64:
        return np.asarray(outward(numbers / 10.0**decimals, 4) if decimals else numbers, dtype=np.float64)
    converted = to_float(numbers, decimals)
    if not decimals and (not len(numbers) or bool((np.abs(converted) < _EXACT_FLOATS).all())):
        return converted
    return np.asarray(outward(converted, 4), dtype=np.float64)
