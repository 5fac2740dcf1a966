"""Days, moments and intervals in syntax: sums and differences, EXTRACT, DATE_TRUNC, AT TIME ZONE. All of it total."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

from sqlglot import exp

from dither.policy.columns import Shown
from dither.policy.columns.key_domains import DAY, MICROSECONDS, Unit
from dither.sql.expressions import Constant, Numeric, Shifted, TextConstant, simplifier
from dither.sql.scalars import calendar, zones
from dither.sql.scalars.casts import as_moment, shown
from dither.sql.scalars.scalar import Scalars, Value, article
from dither.sql.text import grammar

T = TypeVar("T")
Moment = tuple[Numeric, Shown]

_INTERVAL = re.compile(r"\s*([+-]?\d{1,9})\s*([A-Za-z]+)\s*", re.ASCII)
_MOST_MONTHS = 12 * 9_999
_SIZES: dict[str, tuple[int, int, int]] = {  # months, days, microseconds
    "year": (12, 0, 0),
    "month": (1, 0, 0),
    "mon": (1, 0, 0),
    "week": (0, 7, 0),
    "day": (0, 1, 0),
    "hour": (0, 0, MICROSECONDS["hour"]),
    "minute": (0, 0, MICROSECONDS["minute"]),
    "min": (0, 0, MICROSECONDS["minute"]),
    "second": (0, 0, MICROSECONDS["second"]),
    "sec": (0, 0, MICROSECONDS["second"]),
}


def moment(scalars: Scalars, node: exp.Expr, what: str) -> Moment:
    """The day or moment that a piece of syntax stands for, inside the calendar."""
    value = scalars.value(node)
    if value.kind not in ("date", "timestamp", "local") or not isinstance(value.node, Numeric):
        hint = "Write DATE '2024-12-31' for a date." if value.kind == "literal" else "Use a Date or Timestamp column."
        raise scalars.refusal(node, f"{what} takes a date or timestamp, not {article(value.kind)}.", hint)
    kind = shown(value.kind)
    return in_calendar(scalars, node, lambda: calendar.inside(value.node, kind)), kind  # type: ignore[arg-type]


def in_calendar(scalars: Scalars, at: exp.Expr, build: Callable[[], T]) -> T:
    """What is built, or a refusal if it could leave the calendar."""
    try:
        return build()
    except calendar.OutsideCalendar:
        what = "declared bounds allow values here outside the years 1 to 9999."
        raise scalars.refusal(at, what, "Add or subtract less, or use narrower columns.") from None


def truncation(scalars: Scalars, node: exp.Expr) -> tuple[Unit, Moment] | None:
    """The unit and the moment of a DATE_TRUNC; None for any other syntax."""
    inner = node.unnest()
    if not isinstance(inner, exp.TimestampTrunc):
        return None
    unit = _word(inner.args["unit"])
    found = next((known for known in calendar.UNITS if known == unit), None)
    if found is None:
        hint = f"Units are {', '.join(calendar.UNITS)}."
        raise scalars.refusal(inner, f"DATE_TRUNC does not know the unit {unit[:40]!r}.", hint)
    return found, moment(scalars, inner.this, "DATE_TRUNC")


def _word(node: exp.Expr) -> str:
    return str(node.this).lower()


# One rule a kind of syntax


def _added(sign: int) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        left, right = node.this, node.expression
        if isinstance(left.unnest(), exp.Interval) and sign > 0:
            left, right = right, left
        if isinstance(right.unnest(), exp.Interval):
            return _moved(scalars, node, left, right.unnest(), sign)
        return _sum(scalars, node, scalars.value(left), scalars.value(right), sign)

    return rule


def _sum(scalars: Scalars, node: exp.Expr, left: Value, right: Value, sign: int) -> Value:
    if sign > 0 and right.kind == "date":
        left, right = right, left
    if left.kind == "date" and right.is_literal_text and isinstance(right.node, TextConstant) and sign < 0:
        right = as_moment(scalars, node, right.node.value, "date")
    days, other = left.node, right.node
    if left.kind == "date" and isinstance(days, Numeric) and isinstance(other, Numeric):
        if right.kind == "date" and sign < 0:
            return Value("number", simplifier.subtract(days, other))
        if right.kind == "number" and other.scale == 0:
            moved = simplifier.add(days, other) if sign > 0 else simplifier.subtract(days, other)
            return Value("date", in_calendar(scalars, node, lambda: calendar.inside(moved, "date")))
        if right.kind == "number":
            raise scalars.refusal(node, "a date moves by whole days.", "Write day + 7, or use INTERVAL '12 hours'.")
    if {left.kind, right.kind} <= {"date", "timestamp", "local"} and sign < 0:
        hint = "Write EXTRACT(EPOCH FROM (a - b)) for seconds, or cast both to DATE for days."
        raise scalars.refusal(node, "the difference of two timestamps is an interval, which has no one size.", hint)
    build = simplifier.add if sign > 0 else simplifier.subtract
    return Value("number", build(scalars.as_number(node.this, left), scalars.as_number(node.expression, right)))


def _moved(scalars: Scalars, node: exp.Expr, start: exp.Expr, by: exp.Expr, sign: int) -> Value:
    value, kind = moment(scalars, start, "adding an interval")
    months, days, microseconds = (sign * size for size in interval(scalars, by))
    moved, kind = in_calendar(scalars, node, lambda: calendar.later(value, kind, months, days, microseconds))
    return Value(kind, moved)


def interval(scalars: Scalars, node: exp.Expr) -> tuple[int, int, int]:
    """Months, days and microseconds of an INTERVAL literal."""
    text, unit = node.this, node.args.get("unit")
    hint = "Write INTERVAL '7 days', with whole numbers of years, months, weeks, days, hours, minutes or seconds."
    if not isinstance(text, exp.Literal) or not text.args.get("is_string"):
        raise scalars.refusal(node, "an interval is text in single quotes.", hint)
    written = f"{text.this} {_word(unit)}" if unit is not None else str(text.this)
    total, end = [0, 0, 0], 0
    while end < len(written):
        found = _INTERVAL.match(written, end)
        sizes = (
            None if found is None else _SIZES.get(found[2].lower()) or _SIZES.get(found[2].lower().removesuffix("s"))
        )
        if found is None or sizes is None:
            raise scalars.refusal(text, f"the interval {written[:40]!r} cannot be read.", hint)
        total = [size + int(found[1]) * each for size, each in zip(total, sizes, strict=True)]
        end = found.end()
    months, days, microseconds = total
    if not written.strip() or abs(months) > _MOST_MONTHS or abs(days) + abs(microseconds) // DAY > 4_000_000:
        raise scalars.refusal(text, f"the interval {written[:40]!r} is empty or too long.", hint)
    return months, days, microseconds


def _interval(scalars: Scalars, node: exp.Expr) -> Value:
    hint = "Write day + INTERVAL '7 days', or day + 7 * weeks for a number of days."
    what = "an interval can only be added to a date or timestamp, or subtracted from one."
    at = scalars.scope.source.keyword("INTERVAL")
    raise scalars.scope.source.refusal(node if at is None else at, what, hint)


def _extract(scalars: Scalars, node: exp.Expr) -> Value:
    name = _word(node.this)
    if name not in calendar.PARTS:
        near = difflib.get_close_matches(name, calendar.PARTS, n=1)
        hint = f"Did you mean {near[0]}? " if near and "day" not in name else ""
        hint = f"{grammar.WEEKDAYS} " if name in ("dayofweek", "day_of_week", "weekday") else hint
        raise scalars.refusal(
            node, f"EXTRACT does not know the part {name[:40]!r}.", f"{hint}Parts are {', '.join(calendar.PARTS)}."
        )
    inner = node.expression.unnest()
    if name == "epoch" and isinstance(inner, exp.Sub) and not isinstance(inner.expression.unnest(), exp.Interval):
        ends = [moment(scalars, end, "EXTRACT") for end in (inner.this, inner.expression)]
        start, end = (calendar.moment(*end) for end in ends)
        return Value("number", calendar.extracted("epoch", simplifier.subtract(start, end), "timestamp"))
    value, kind = moment(scalars, node.expression, "EXTRACT")
    return Value("number", calendar.extracted(name, value, kind))


def _truncate(scalars: Scalars, node: exp.Expr) -> Value:
    found = truncation(scalars, node)
    if found is None:
        raise TypeError(type(node).__name__)
    unit, (value, kind) = found
    return Value(kind, calendar.truncated(unit, value, kind))


def _at_zone(scalars: Scalars, node: exp.Expr) -> Value:
    """An instant becomes the time on a wall clock there; the time on a wall clock becomes an instant."""
    zone = node.args["zone"].unnest()
    hint = "Write a name such as 'Europe/Berlin' or 'UTC'."
    if not isinstance(zone, exp.Literal) or not zone.args.get("is_string"):
        raise scalars.refusal(node, "a time zone is a name in single quotes.", hint)
    try:
        name = zones.zone_name(str(zone.this))
    except zones.UnknownZone:
        raise scalars.refusal(zone, f"there is no time zone {str(zone.this)[:40]!r}.", hint) from None
    scalars.labels.zone(node, name)
    value, kind = moment(scalars, node.this, "AT TIME ZONE")
    value = calendar.moment(value, kind)
    to: Shown = "timestamp" if kind == "local" else "local"
    # A wall clock's reading may be two days from UTC at most, so its changes are looked for so far around it.
    around = 2 * DAY if kind == "local" else 0
    try:
        starts, offsets = zones.offsets(name, value.low - around, value.high + around)
    except zones.TooManyChanges:
        what = f"the zone {name} has more than {zones.MOST_CHANGES} changes within the declared bounds."
        raise scalars.refusal(node, what, "Declare narrower bounds for the Timestamp column.") from None
    if kind == "local":
        # A reading belongs to the later offset from (change + later offset) on: in a gap clocks still count by the
        # earlier one, and of two equal readings the second is meant. PostgreSQL reads them so.
        starts = tuple(start + later for start, later in zip(starts, offsets[1:], strict=True))
        if any(one >= other for one, other in pairwise(starts)):
            raise scalars.refusal(node, f"wall clocks of {name} changed too fast to be read back.", "Use UTC.")
    shifts = offsets if to == "local" else tuple(-offset for offset in offsets)
    moved: Numeric = Shifted(value, starts, shifts)
    if not starts or isinstance(value, Constant):
        moved = simplifier.add(value, Constant(shifts[sum(start <= value.low for start in starts)]))
    return Value(to, in_calendar(scalars, node, lambda: calendar.inside(moved, to)))


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Add: _added(1),
    exp.Sub: _added(-1),
    exp.Interval: _interval,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncate,
    exp.AtTimeZone: _at_zone,
}
