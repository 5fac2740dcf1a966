"""What the codes of computed group keys stand for: listed values, periods of time, or values without a public list.

Queries make these declarations; policies never hold them. A code is an integer; `numbers` maps codes to the numbers
that are shown, all at once: whole numbers or units of 10**-shown_decimals, days, or microseconds since 1970.

>>> bands = Listed(range(0, 100, 10), nullable=False)
>>> bands.low, bands.high, bands.decode(3)
(0, 9, 30)
>>> Periods("month", 0, 1).decode(1)
datetime.date(1970, 2, 1)
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dither.policy.columns.column import Coded, Shown

Unit = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]

DAY = 86_400_000_000  # microseconds
MICROSECONDS: dict[str, int] = {"hour": DAY // 24, "minute": 60_000_000, "second": 1_000_000}
_MONTHS: dict[str, int] = {"year": 12, "quarter": 3, "month": 1}
_EPOCH = datetime.datetime(1970, 1, 1)


class Computed(Coded):
    """A declaration that a query made, of values that are shown in one of a few ways."""

    shown_decimals: int = 0

    def __post_init__(self) -> None:
        """Nothing is loaded under such a declaration, so it needs no default."""

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The numbers that codes in low..high stand for."""
        return codes

    def decode(self, code: int) -> Any:
        number = int(self.numbers(np.array([code], np.int64))[0])
        if self.shown == "number":
            return Decimal(number).scaleb(-self.shown_decimals) if self.shown_decimals else number
        if self.shown == "date":
            return _EPOCH.date() + datetime.timedelta(days=number)
        moment = _EPOCH + datetime.timedelta(microseconds=number)
        return moment.replace(tzinfo=datetime.UTC) if self.shown == "timestamp" else moment


@dataclass(frozen=True)
class Listed(Computed):
    """Code i is the i-th of the values."""

    kind = "listed"
    _listed = True
    values: range | tuple[int, ...]
    shown: Shown = "number"
    shown_decimals: int = 0

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.values) - 1

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self.values, range):
            return self.values.start + codes.astype(np.int64) * self.values.step
        return np.take(np.array(self.values, np.int64), codes)


@dataclass(frozen=True)
class Periods(Computed):
    """Code i is the first day or moment of the i-th period since the one that holds 1970-01-01."""

    kind = "periods"
    _listed = True
    unit: Unit
    first: int
    last: int
    shown: Shown = "date"

    @property
    def low(self) -> int:
        return self.first

    @property
    def high(self) -> int:
        return self.last

    def numbers(self, codes: NDArray[Any]) -> NDArray[Any]:
        codes = codes.astype(np.int64)
        if self.unit in MICROSECONDS:
            return codes * MICROSECONDS[self.unit]
        if self.unit in _MONTHS:
            days = (codes * _MONTHS[self.unit]).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        else:
            days = codes * 7 - 3 if self.unit == "week" else codes  # 1970-01-01 was a Thursday
        return days if self.shown == "date" else days * DAY


@dataclass(frozen=True)
class Unlisted(Computed):
    """A code is the value itself, somewhere in least..most; there is no public list of values."""

    kind = "unlisted"
    least: int
    most: int
    shown: Shown = "number"
    shown_decimals: int = 0

    @property
    def low(self) -> int:
        return self.least

    @property
    def high(self) -> int:
        return self.most
