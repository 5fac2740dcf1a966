"""to_char of days and moments, in formats that name a year, a month or a weekday: labels of a public list.

The parser has formats in other letters than PostgreSQL's; those here are what it makes of them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.policy.columns import Category
from dither.policy.columns.key_domains import Unit
from dither.sql.expressions import Clamp, Constant, Numeric, simplifier
from dither.sql.expressions.times import date
from dither.sql.scalars import calendar
from dither.sql.scalars.label_maps import MOST_STEPS, category_of
from dither.sql.scalars.scalar import Scalars, Value
from dither.sql.scalars.time_functions import in_calendar, moment

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
MONTHS = (*_MONTHS, "November", "December")
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

PERIODS: dict[str, tuple[Unit, str]] = {  # the period, and how Python writes it
    "%Y": ("year", "%Y"),  # YYYY
    "%Y-%m": ("month", "%Y-%m"),  # YYYY-MM
    "%Y/%m": ("month", "%Y/%m"),  # YYYY/MM
    "%Y-%m-%d": ("day", "%Y-%m-%d"),  # YYYY-MM-DD
}
PARTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "%m": ("month", lambda month: f"{month:02d}"),  # MM
    "Mon": ("month", lambda month: MONTHS[month - 1][:3]),
    "Month": ("month", lambda month: MONTHS[month - 1].ljust(9)),
    "F%month": ("month", lambda month: MONTHS[month - 1]),  # FMMonth
    "%uy": ("dow", lambda day: DAYS[day][:3]),  # Dy
    "%uay": ("dow", lambda day: DAYS[day].ljust(9)),  # Day
    "FM%uay": ("dow", lambda day: DAYS[day]),  # FMDay
    "%u": ("dow", lambda day: str(day + 1)),  # D
    "I%u": ("isodow", str),  # ID
    "Q": ("quarter", str),
    "%H": ("hour", lambda hour: f"{hour:02d}"),  # HH24
}


def _labelled(scalars: Scalars, node: exp.Expr) -> Value:
    value, kind = moment(scalars, node.this, "TO_CHAR")
    given = node.args["format"]
    form = str(given.this) if isinstance(given, exp.Literal) and given.args.get("is_string") else ""
    if form in PARTS:
        name, label = PARTS[form]
        code = in_calendar(scalars, node, lambda: calendar.extracted(name, value, kind))
    elif form in PERIODS:
        unit, written = PERIODS[form]
        code = in_calendar(scalars, node, lambda: calendar.period(unit, value, kind))

        def label(place: int) -> str:
            start = calendar.start_of(unit, Constant(place), "date")
            day = date(start.low)
            return f"{day.year:04d}{day.strftime(written.removeprefix('%Y'))}"

    else:
        known = "YYYY, YYYY-MM, YYYY/MM, YYYY-MM-DD, MM, Mon, Month, FMMonth, Dy, Day, FMDay, D, ID, Q and HH24"
        raise scalars.refusal(node, "this format of TO_CHAR is not supported.", f"Supported are {known}.")
    return Value("category", *_listed(scalars, node, code, label))


def _listed(scalars: Scalars, node: exp.Expr, code: Numeric, label: Callable[[int], str]) -> tuple[Numeric, Category]:
    low, high = code.bounds
    if high - low >= MOST_STEPS:
        what = f"TO_CHAR would have {high - low + 1:,} different results here; at most {MOST_STEPS:,} are listed."
        raise scalars.refusal(node, what, "Use a coarser format, or narrow the days in WHERE.")
    labels = [label(place) for place in range(low, high + 1)]
    return Clamp(simplifier.subtract(code, Constant(low)), 0, high - low), category_of(labels)


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {exp.TimeToStr: _labelled}
