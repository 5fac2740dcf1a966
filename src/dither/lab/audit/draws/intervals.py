"""Arrays of intervals in float64, with the operations that random reals are made of: a quick look at many of them.

Every operation widens its result by 2^-48 of itself, several times what the functions of NumPy are off by. That is a
margin, not a proof: so nothing is released by these intervals, they only help the auditor draw. A number whose interval
does not decide is settled by the mechanism's own exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

_WIDER = 2.0**-48
_TURN = 2.0**-50  # np.pi and a product are off by less than half of it
_SMALLEST = 1e-290


@dataclass(frozen=True, eq=False)
class Intervals:
    """low[i] <= number i <= high[i]; NaN where nothing is known."""

    low: Reals
    high: Reals

    # Arrays leave the operation to this class.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Intervals:
        low, high = _ends(other)
        return _widened(self.low + low, self.high + high)

    def __neg__(self) -> Intervals:
        return Intervals(-self.high, -self.low)

    def __sub__(self, other: Any) -> Intervals:
        low, high = _ends(other)
        return _widened(self.low - high, self.high - low)

    def __rsub__(self, other: Any) -> Intervals:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Intervals:
        low, high = _ends(other)
        with np.errstate(all="ignore"):
            corners = [self.low * low, self.low * high, self.high * low, self.high * high]
        return _widened(np.minimum.reduce(corners), np.maximum.reduce(corners))

    def __truediv__(self, other: Any) -> Intervals:
        low, high = _ends(other)
        with np.errstate(all="ignore"):
            # Divisors that may be 0 leave the quotient unknown.
            sure = (low > 0) | (high < 0)
            corners = [self.low / low, self.low / high, self.high / low, self.high / high]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        return _widened(np.where(sure, low, np.nan), np.where(sure, high, np.nan))

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, other: Any) -> Intervals:
        """A number >= 0 to a power: monotone in both, so the corners hold all."""
        low, high = _ends(other)
        with np.errstate(all="ignore"):
            corners = [base**power for base in (self.low, self.high) for power in (low, high)]
        return _widened(np.minimum.reduce(corners), np.maximum.reduce(corners))

    @classmethod
    def chosen(cls, first: npt.NDArray[np.bool_], one: Any, other: Any) -> Intervals:
        """One number where `first` says so, the other elsewhere."""
        return cls(*(np.where(first, *ends) for ends in zip(_ends(one), _ends(other), strict=True)))

    def below(self, other: Any) -> npt.NDArray[np.bool_]:
        """Where the number is certainly smaller."""
        return np.asarray(self.high < _ends(other)[0])

    def not_below(self, other: Any) -> npt.NDArray[np.bool_]:
        """Where the number is certainly not smaller."""
        return np.asarray(self.low >= _ends(other)[1])

    def log(self) -> Intervals:
        return self._rising(np.log)

    def exp(self) -> Intervals:
        return self._rising(np.exp)

    def expm1(self) -> Intervals:
        return self._rising(np.expm1)

    def sqrt(self) -> Intervals:
        return self._rising(np.sqrt)

    def tan_pi(self) -> Intervals:
        """tan(pi x) for 0 <= x < 1/2."""
        with np.errstate(all="ignore"):
            # The argument is widened, not the result alone: near 1/2 its roundings grow without bound.
            ends = np.pi * self.low * (1 - _TURN), np.pi * self.high * (1 + _TURN)
            known = (ends[0] >= 0) & (ends[1] < np.pi / 2)
            low, high = (np.where(known, np.tan(end), np.nan) for end in ends)
        return _widened(low, high)

    def cos_pi(self) -> Intervals:
        """cos(pi x) for 0 <= x <= 2."""
        with np.errstate(all="ignore"):
            # pi x is off by roundings of a number below 7: an absolute error, near the zeros of the cosine too.
            ends = np.cos(np.pi * self.low), np.cos(np.pi * self.high)
            turns = (self.low <= 1) & (self.high >= 1)
        low = np.where(turns, -1.0, np.minimum(*ends))
        return Intervals(low - 2 * _WIDER, np.maximum(*ends) + 2 * _WIDER)

    def _rising(self, function: Callable[[Reals], Reals]) -> Intervals:
        with np.errstate(all="ignore"):
            return _widened(function(self.low), function(self.high))


def _widened(low: Reals, high: Reals) -> Intervals:
    with np.errstate(invalid="ignore"):  # of an infinite end on the wrong side nothing is known
        return Intervals(low - np.abs(low) * _WIDER - _SMALLEST, high + np.abs(high) * _WIDER + _SMALLEST)


def _ends(other: Any) -> tuple[Any, Any]:
    if isinstance(other, Intervals):
        return other.low, other.high
    if isinstance(other, (int, float, np.ndarray)):
        return other, other
    low, high = float(other.lower()), float(other.upper())  # of a ball of the exact arithmetic
    return low - abs(low) * _WIDER, high + abs(high) * _WIDER
