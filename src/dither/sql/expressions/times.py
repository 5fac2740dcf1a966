"""Days of the calendar: their parts, the first day of a period, months added. A day counts from 1970-01-01.

The proleptic Gregorian calendar of the years 1 to 9999 is all there is: `FIRST_DAY` to `LAST_DAY`.
"""

from __future__ import annotations

import datetime
from calendar import monthrange
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dither.records import recorded
from dither.sql.expressions.base import Numeric, Opaque

Part = Literal["year", "month", "day", "doy", "week", "isoyear"]
Period = Literal["year", "quarter", "month"]

_EPOCH = datetime.date(1970, 1, 1)
FIRST_DAY = (datetime.date.min - _EPOCH).days
LAST_DAY = (datetime.date.max - _EPOCH).days
_PARTS: dict[Part, tuple[int, int]] = {"month": (1, 12), "day": (1, 31), "doy": (1, 366), "week": (1, 53)}


@recorded("DatePart", "part", "value")
@dataclass(frozen=True)
class DatePart(Opaque):
    """A part of a day: `doy` the day of the year, `week` and `isoyear` by ISO 8601."""

    part: Part
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        first, last = date(self.value.low), date(self.value.high)
        ends = part(self.part, first), part(self.part, last)
        turns = {"month": "year", "doy": "year", "week": "isoyear", "day": "month"}.get(self.part)
        if turns is None:
            return ends
        same = part(turns, first) == part(turns, last)  # type: ignore[arg-type]
        # between two days of one year its parts ascend, and so do those between two days of one month
        if same and (self.part != "day" or first.year == last.year):
            return ends
        return _PARTS[self.part]


@recorded("FirstDay", "period", "value")
@dataclass(frozen=True)
class FirstDay(Opaque):
    """The first day of the year, quarter or month that a day lies in."""

    period: Period
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return first_day(self.period, self.value.low), first_day(self.period, self.value.high)


@recorded("AddMonths", "value", "months")
@dataclass(frozen=True)
class AddMonths(Opaque):
    """The same day so many months later, or the last day of that month if it is shorter."""

    value: Numeric
    months: int

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return add_months(self.value.low, self.months), add_months(self.value.high, self.months)


@recorded("MonthStart", "value")
@dataclass(frozen=True)
class MonthStart(Opaque):
    """The first day of the month so many months after January 1970."""

    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return add_months(0, self.value.low), add_months(0, self.value.high)


def date(day: int) -> datetime.date:
    """The day as a date; an OverflowError outside the years 1 to 9999."""
    return _EPOCH + datetime.timedelta(days=day)


def part(name: Part, day: datetime.date) -> int:
    """A part of one date.

    >>> part("week", datetime.date(2021, 1, 3)), part("isoyear", datetime.date(2021, 1, 3))
    (53, 2020)
    """
    if name == "doy":
        return day.timetuple().tm_yday
    if name in ("week", "isoyear"):
        year, week, _ = day.isocalendar()
        return week if name == "week" else year
    return int(getattr(day, name))


def first_day(period: Period, day: int) -> int:
    """The first day of a period."""
    inside = date(day)
    month = {"year": 1, "quarter": (inside.month - 1) // 3 * 3 + 1, "month": inside.month}[period]
    return (inside.replace(month=month, day=1) - _EPOCH).days


def add_months(day: int, months: int) -> int:
    """The same day so many months later, or the last one of that month; an OverflowError outside the calendar.

    >>> date(add_months(19753, 1))  # 2024-01-31
    datetime.date(2024, 2, 29)
    """
    start = date(day)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise OverflowError("the year lies outside 1 to 9999.")
    end = datetime.date(year, month + 1, min(start.day, monthrange(year, month + 1)[1]))
    return (end - _EPOCH).days
