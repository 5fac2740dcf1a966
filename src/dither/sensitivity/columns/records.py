"""A column of numbers, read record by record: clamped to its declared range, put in order only where it matters.

Nothing here raises because of a value. What is outside [lower, upper] becomes the nearer bound; NaN, None and whatever
is not a number become `lower`. Both depend on that record alone, so one changed record stays one changed record. A
float means exactly the binary number that it is.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.parameters import Number
from dither.sensitivity.bounds import declared
from dither.sensitivity.columns.reading import Column, read_column

_MARGIN = 4096
_FLOAT_BITS = 53
_FARTHEST_DIGIT = 2000  # decimal exponents beyond this are past every bound, or indistinguishable from 0


class Records:
    """n clamped records; the r-th smallest as an exact number, padded by the bounds outside 1..n."""

    def __init__(self, column: Column, lower: Number | None, upper: Number | None) -> None:
        self.lower, self.upper = declared(lower, upper)
        self._order = _order(column, self.lower)
        self.size = self._order.size
        if not self.size:
            raise ParameterError("the column is empty; a statistic of a public number of records needs at least one.")

    @property
    def width(self) -> Fraction:
        """The length of the declared range."""
        return self.upper - self.lower

    def ranks(self, first: int, last: int) -> list[Fraction]:
        """The values of ranks first..last: `lower` below rank 1, `upper` above rank n."""
        inside = self._order.between(max(first, 1), min(last, self.size)) if first <= self.size and last >= 1 else []
        before = [self.lower] * max(0, min(last, 0) - first + 1)
        after = [self.upper] * max(0, last - max(first, self.size + 1) + 1)
        # Clamping keeps the order, so it is done after selection: all up to one place, and all from another on.
        low, high = bisect_right(inside, self.lower), bisect_left(inside, self.upper)
        clamped_low, clamped_high = [self.lower] * low, [self.upper] * (len(inside) - high)
        return [*before, *clamped_low, *map(Fraction, inside[low:high]), *clamped_high, *after]

    def total(self, first: int, last: int) -> Fraction:
        """The exact sum of the values of ranks 1 <= first..last <= n."""
        return self._order.total(first, last, self.lower, self.upper)

    def rank(self, r: int) -> Fraction:
        """The r-th smallest value."""
        return self.ranks(r, r)[0]


def clamped(record: object, lower: Fraction, upper: Fraction) -> Fraction:
    """One record inside [lower, upper]; `lower` if it is no number."""
    read = _number(record)
    if read is None or read <= lower:
        return lower
    return upper if read >= upper else Fraction(read)


class _Listed:
    """Python numbers, sorted once."""

    def __init__(self, values: Iterable[object], missing: Fraction) -> None:
        self._sorted = sorted(missing if (read := _number(value)) is None else read for value in values)
        self.size = len(self._sorted)

    def between(self, first: int, last: int) -> list[Any]:
        return self._sorted[first - 1 : last]

    def total(self, first: int, last: int, lower: Fraction, upper: Fraction) -> Fraction:
        inside = self.between(first, last)
        low, high = bisect_right(inside, lower), bisect_left(inside, upper)
        values = [Fraction(value) for value in inside[low:high]]
        denominator = math.lcm(*{value.denominator for value in values})
        whole = sum(value.numerator * (denominator // value.denominator) for value in values)
        return Fraction(whole, denominator) + low * lower + (len(inside) - high) * upper


class _Selected:
    """A NumPy array in which one stretch of ranks is put in order by selection, and grows when more is asked."""

    def __init__(self, array: np.ndarray[Any, Any], nulls: int, missing: Fraction) -> None:
        self._array, self._missing = array.copy(), missing
        self.size = len(array) + nulls
        # NaN sorts last in NumPy; here it is the lower bound as a null is, so it comes first.
        nans = int(np.count_nonzero(self._array != self._array)) if array.dtype.kind == "f" else 0
        self._absent = nulls + nans
        self._start = self._stop = 0  # positions in order: start <= position < stop

    def between(self, first: int, last: int) -> list[Any]:
        absent, inside = self._ordered(first, last)
        return [*([self._missing] * absent), *inside.tolist()]

    def total(self, first: int, last: int, lower: Fraction, upper: Fraction) -> Fraction:
        absent, inside = self._ordered(first, last)
        low = bisect_right(range(inside.size), lower, key=lambda place: inside[place].item())
        high = bisect_left(range(inside.size), upper, key=lambda place: inside[place].item())
        return exact_sum(inside[low:high]) + (absent + low) * lower + (inside.size - high) * upper

    def _ordered(self, first: int, last: int) -> tuple[int, np.ndarray[Any, Any]]:
        """How many of these ranks are missing records, which come first, and the others in order."""
        start, stop = max(0, first - 1 - self._absent), max(0, last - self._absent)
        absent = last - first + 1 - (stop - start)
        if start == stop:
            return absent, self._array[:0]
        if start < self._start or stop > self._stop or self._start == self._stop:
            # Selection costs the same for a wider stretch; the next look will be there already.
            margin = max(_MARGIN, 2 * (stop - start))
            self._put_in_order(max(0, start - margin), min(self.size - self._absent, stop + margin))
        return absent, self._array[start:stop]

    def _put_in_order(self, start: int, stop: int) -> None:
        array = self._array
        if self._start == self._stop:
            array.partition((start, stop - 1))
            array[start:stop].sort()
            self._start, self._stop = start, stop
        if start < self._start:
            array[: self._start].partition(start)
            array[start : self._start].sort()
            self._start = start
        if stop > self._stop:
            array[self._stop :].partition(stop - 1 - self._stop)
            array[self._stop : stop].sort()
            self._stop = stop


def exact_sum(values: np.ndarray[Any, Any]) -> Fraction:
    """The sum of finite numbers of at most 64 bits, without rounding: floats as whole numbers of each power of two."""
    if values.dtype.kind != "f":
        return Fraction(_whole_sum(values))
    share, power = np.frexp(values.astype(np.float64))
    whole = np.ldexp(share, _FLOAT_BITS).astype(np.int64)
    powers, place = np.unique(power, return_inverse=True)
    parts = (_whole_sum(whole[place == i]) * Fraction(2) ** (int(p) - _FLOAT_BITS) for i, p in enumerate(powers))
    return sum(parts, Fraction(0))


def _whole_sum(values: np.ndarray[Any, Any]) -> int:
    """Both halves of the words by themselves: neither sum can overflow below 2^31 numbers."""
    if values.dtype.itemsize < 8:
        values = values.astype(np.int64)
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _order(column: Column, missing: Fraction) -> _Listed | _Selected:
    read = read_column(column)
    kind = read.values.dtype
    if kind.kind == "O":
        return _Listed(read.elements(), missing)
    if kind.kind not in "biuf" or kind.itemsize > 8:
        raise ParameterError(f"a column holds numbers of at most 64 bits; got the type {kind}.")
    array = read.present.view(np.uint8) if kind.kind == "b" else read.present
    return _Selected(array, read.absent, missing)


def _number(value: object) -> Fraction | float | int | None:
    """The exact value of one record (infinities stay), None if it is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, int):
        return int(value)
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else None


def _decimal(value: Decimal) -> Fraction | float | None:
    if value.is_nan():
        return None
    # Checked before the power of ten is computed: a long exponent would take forever.
    if value.is_infinite() or value.adjusted() > _FARTHEST_DIGIT:
        return -math.inf if value.is_signed() else math.inf
    return Fraction(0) if value.adjusted() < -_FARTHEST_DIGIT else Fraction(value)
