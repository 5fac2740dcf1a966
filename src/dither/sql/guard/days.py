"""Which days the calendar functions can give, derived anew for the guard: days count from 1970-01-01.

All of them ascend with the day they are given, so the first and the last day of an interval tell the whole of it.
"""

from __future__ import annotations

import datetime

from dither.sql import expressions as e
from dither.sql.guard.refusals import UnsafePlan

Interval = tuple[int, int]

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH, datetime.date.max.toordinal() - _EPOCH
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_WITHIN = {"month": (1, 12), "day": (1, 31), "doy": (1, 366), "week": (1, 53)}


def date_part(node: e.DatePart, days: Interval) -> Interval:
    """The parts of all days of an interval. Within one year, or one month for its days, they ascend as well."""
    first, last = _dates(node, days)
    parts = [_parts(day) for day in (first, last)]
    if node.part not in parts[0]:
        raise UnsafePlan(f"the part {node.part!r} of a day is not known.")
    around = {"month": ("year",), "doy": ("year",), "week": ("isoyear",), "day": ("year", "month")}.get(node.part, ())
    if all(parts[0][name] == parts[1][name] for name in around):
        return parts[0][node.part], parts[1][node.part]
    return _WITHIN[node.part]


def first_day(node: e.FirstDay, days: Interval) -> Interval:
    """The first days of the periods of all days of an interval."""
    if node.period not in _MONTHS:
        raise UnsafePlan(f"the period {node.period!r} is not known.")
    size = _MONTHS[node.period]
    low, high = (_month_start((day.year * 12 + day.month - 1) // size * size) for day in _dates(node, days))
    return low, high


def add_months(node: e.AddMonths, days: Interval) -> Interval:
    """Every day of an interval so many months later, or the last day of that month."""
    low, high = (
        min(_month_start(month) + day.day - 1, _month_start(month + 1, ends=True) - 1)
        for day in _dates(node, days)
        for month in (day.year * 12 + day.month - 1 + node.months,)
    )
    return low, high


def month_start(node: e.MonthStart, months: Interval) -> Interval:
    """The first days of months that count from January 1970."""
    low, high = (_month_start(1970 * 12 + month) for month in months)
    return low, high


def _dates(node: e.DatePart | e.FirstDay | e.AddMonths, days: Interval) -> list[datetime.date]:
    """The first and the last day, both in the years that engines know."""
    if not (days[0] >= _FIRST_DAY and days[1] <= _LAST_DAY):
        raise UnsafePlan(f"{type(node).__name__} may leave the years 1 to 9999.")
    return [datetime.date.fromordinal(_EPOCH + day) for day in days]


def _parts(day: datetime.date) -> dict[str, int]:
    isoyear, week, _ = day.isocalendar()
    doy = day.toordinal() - datetime.date(day.year, 1, 1).toordinal() + 1
    return {"year": day.year, "month": day.month, "day": day.day, "doy": doy, "week": week, "isoyear": isoyear}


def _month_start(month: int, *, ends: bool = False) -> int:
    """The first day of a month that counts from year 0; the calendar also ends where a month would begin."""
    if ends and month == 120_000:
        return _LAST_DAY + 1
    if not 12 <= month < 120_000:
        raise UnsafePlan("a date may leave the years 1 to 9999.")
    return datetime.date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH
