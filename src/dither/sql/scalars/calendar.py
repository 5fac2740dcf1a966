"""Builders for parts, periods and sums of days and moments, which are whole numbers: days, or microseconds, since 1970.

A moment is first cut into its day and the time of that day, so that one calendar serves both. Constants are folded.
"""

from __future__ import annotations

from dither.policy.columns import Shown
from dither.policy.columns.key_domains import DAY, MICROSECONDS, Unit
from dither.sql.expressions import (
    FIRST_DAY,
    LAST_DAY,
    AddMonths,
    Constant,
    DatePart,
    FirstDay,
    MonthStart,
    Numeric,
    Part,
    add_months,
    first_day,
    simplifier,
)
from dither.sql.expressions.times import date, part
from dither.sql.scalars.rounding import clamped, cut_divide, floor_divide, floor_modulo, units

PARTS = (
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "dow", "isodow", "doy", "isoyear", "epoch",
)  # fmt: skip
UNITS: tuple[Unit, ...] = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_MONTHS: dict[str, int] = {"year": 12, "quarter": 3, "month": 1}


class OutsideCalendar(ValueError):
    """The value may lie outside the years 1 to 9999."""


def inside(value: Numeric, kind: Shown) -> Numeric:
    """The value, if all that it can be lies in the calendar."""
    size = 1 if kind == "date" else DAY
    if not (FIRST_DAY * size <= value.low and value.high < (LAST_DAY + 1) * size):
        raise OutsideCalendar
    return value


def day_of(value: Numeric, kind: Shown) -> Numeric:
    """The day that a moment lies in; a day is its own."""
    return value if kind == "date" else floor_divide(value, DAY)


def time_of(value: Numeric, kind: Shown) -> Numeric:
    """The microseconds since midnight."""
    return Constant(0) if kind == "date" else floor_modulo(value, DAY)


def moment(value: Numeric, kind: Shown) -> Numeric:
    """Microseconds since 1970; a day is its midnight."""
    return simplifier.multiply(value, Constant(DAY)) if kind == "date" else value


def _part(name: Part, day: Numeric) -> Numeric:
    return Constant(part(name, date(day.value))) if isinstance(day, Constant) else DatePart(name, day)


def extracted(name: str, value: Numeric, kind: Shown) -> Numeric:
    """EXTRACT(name FROM value)."""
    if name == "epoch":
        return simplifier.multiply(value, Constant(86_400)) if kind == "date" else units(value, 6)
    if name in ("hour", "minute", "second"):
        if kind == "date":
            return simplifier.multiply(value, Constant(0))  # NULL of NULL
        if name == "hour":
            return cut_divide(time_of(value, kind), MICROSECONDS["hour"])
        if name == "minute":
            return cut_divide(floor_modulo(value, MICROSECONDS["hour"]), MICROSECONDS["minute"])
        return units(floor_modulo(value, MICROSECONDS["minute"]), 6)
    day = day_of(value, kind)
    if name == "quarter":
        return cut_divide(simplifier.add(_part("month", day), Constant(2)), 3)
    if name == "dow":  # 1970-01-01 was a Thursday; Sunday is 0
        return floor_modulo(simplifier.add(day, Constant(4)), 7)
    if name == "isodow":  # Monday is 1
        return simplifier.add(floor_modulo(simplifier.add(day, Constant(3)), 7), Constant(1))
    return _part(name, day)  # type: ignore[arg-type]


def truncated(unit: Unit, value: Numeric, kind: Shown) -> Numeric:
    """DATE_TRUNC(unit, value), a value of the same kind."""
    if unit in _MONTHS:
        day = day_of(value, kind)
        constant = isinstance(day, Constant)
        first = Constant(first_day(unit, day.low)) if constant else FirstDay(unit, day)  # type: ignore[arg-type]
        return first if kind == "date" else moment(first, "date")
    one_day = 1 if kind == "date" else DAY
    if kind == "date" and unit != "week":
        return value
    if unit == "week":  # Monday, 3 days before 1970-01-01
        past = floor_modulo(simplifier.add(value, Constant(3 * one_day)), 7 * one_day)
    else:
        past = floor_modulo(value, DAY if unit == "day" else MICROSECONDS[unit])
    # The calendar begins at midnight of a Monday, so no start lies before it, though the difference's bounds may.
    start = simplifier.subtract(value, past)
    return clamped(start, FIRST_DAY * one_day, start.high)


def period(unit: Unit, value: Numeric, kind: Shown) -> Numeric:
    """How many periods lie between the one of the value and the one of 1970-01-01: the code that `Periods` shows."""
    if unit in MICROSECONDS:
        return floor_divide(moment(value, kind), MICROSECONDS[unit])
    day = day_of(value, kind)
    if unit == "day":
        return day
    if unit == "week":
        return floor_divide(simplifier.add(day, Constant(3)), 7)
    year = simplifier.subtract(_part("year", day), Constant(1970))
    if unit == "year":
        return year
    months = 12 // _MONTHS[unit]
    within = extracted(unit, day, "date")
    return simplifier.subtract(simplifier.add(simplifier.multiply(year, Constant(months)), within), Constant(1))


def start_of(unit: Unit, code: Numeric, kind: Shown) -> Numeric:
    """The first day or moment of a period, given how many lie between it and that of 1970-01-01."""
    if unit in MICROSECONDS:
        return simplifier.multiply(code, Constant(MICROSECONDS[unit]))
    day = code
    if unit in _MONTHS:
        day = MonthStart(simplifier.multiply(code, Constant(_MONTHS[unit])) if unit != "month" else code)
    elif unit == "week":
        day = simplifier.subtract(simplifier.multiply(code, Constant(7)), Constant(3))
    return day if kind == "date" else moment(day, "date")


def later(value: Numeric, kind: Shown, months: int, days: int, microseconds: int) -> tuple[Numeric, Shown]:
    """The value plus an interval as PostgreSQL adds it: months (to the month's end at most), then days, then time.

    A day stays a day unless the interval has a part smaller than days.
    """
    if months:
        inside(value, kind)
        day = day_of(value, kind)
        try:
            ends = [add_months(end, months) for end in day.bounds]
        except OverflowError:
            raise OutsideCalendar from None
        moved = Constant(ends[0]) if isinstance(day, Constant) else AddMonths(day, months)
        value = (
            moved if kind == "date" else simplifier.add(simplifier.multiply(moved, Constant(DAY)), time_of(value, kind))
        )
    if microseconds and kind == "date":
        value, kind = moment(value, kind), "local"
    if days:
        value = simplifier.add(value, Constant(days if kind == "date" else days * DAY))
    if microseconds:
        value = simplifier.add(value, Constant(microseconds))
    return inside(value, kind), kind
