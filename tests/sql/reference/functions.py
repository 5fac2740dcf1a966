"""Functions of numbers, days, moments and texts, by Python's own calendar and strings."""

from __future__ import annotations

import calendar
import datetime
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import sql_reference_terms as t
from sql_reference_scalars import RULES, Scalars
from sql_reference_terms import Term, Unknown
from sqlglot import exp

from dither.exact.balls import Ball, ball, floor_of

MOMENTS = ("date", "timestamp", "local")
_EPOCH = datetime.datetime(1970, 1, 1)


def half_away(value: Fraction, decimals: int) -> Fraction:
    """Rounded to so many decimals, which may be negative; a half goes away from zero."""
    step = Fraction(10) ** -decimals
    size = math.floor(abs(value) / step + Fraction(1, 2)) * step
    return size if value >= 0 else -size


def _decimals(scalars: Scalars, node: exp.Expr) -> int:
    given = node.args.get("decimals")
    return 0 if given is None else int(scalars.term(given).of({}))


def _stepwise(function: Callable[[Fraction, int], Fraction]) -> Callable[[Scalars, Any], Term]:
    def rule(scalars: Scalars, node: exp.Expr) -> Term:
        inner, decimals = scalars.term(node.this), _decimals(scalars, node)
        kept = min(inner.decimals, max(decimals, 0))
        return Term("number", kept, t.lifted(lambda x: function(x, decimals), inner))

    return rule


def _whole(function: Callable[[Fraction], int]) -> Callable[[Scalars, Any], Term]:
    return lambda scalars, node: Term("number", 0, t.lifted(lambda x: Fraction(function(x)), scalars.term(node.this)))


def _truncated(value: Fraction, decimals: int) -> Fraction:
    step = Fraction(10) ** -decimals
    return t.cut(value / step) * step


def _bucket(scalars: Scalars, node: exp.WidthBucket) -> Term:
    low, high, count = (scalars.term(node.args[name]).of({}) for name in ("min_value", "max_value", "num_buckets"))

    def of(value: Fraction) -> Fraction:
        if value < low:
            return Fraction(0)
        return Fraction(count + 1 if value >= high else math.floor((value - low) * count / (high - low)) + 1)

    return Term("number", 0, t.lifted(of, scalars.term(node.this)))


def nearest(number: Callable[[], Ball]) -> Fraction:
    """A real number, which is no half, to six decimals."""
    return Fraction(floor_of(lambda: number() * 10**6 + ball(Fraction(1, 2))), 10**6)


def _root(scalars: Scalars, node: exp.Sqrt) -> Term:
    def of(x: Fraction) -> Fraction | None:
        exact = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator)) if x >= 0 else None
        return half_away(exact, 6) if exact is None or exact**2 == x else nearest(lambda: ball(x).sqrt())

    return Term("number", 6, t.lifted(lambda x: None if x < 0 else of(x), scalars.term(node.this)))


def _log(scalars: Scalars, node: exp.Ln | exp.Log) -> Term:
    base = None if isinstance(node, exp.Ln) else Fraction(10)
    inner = node.this
    if node.args.get("expression") is not None:
        base, inner = scalars.term(node.this).of({}), node.expression

    def of(x: Fraction) -> Fraction | None:
        return None if x <= 0 else nearest(lambda: ball(x).log() / (ball(1) if base is None else ball(base).log()))

    return Term("number", 6, t.lifted(of, scalars.term(inner)))


def _power(scalars: Scalars, node: exp.Pow) -> Term:
    base, exponent = scalars.term(node.this), scalars.term(node.expression)
    literal = not node.expression.find(exp.Column)
    whole = literal and exponent.of({}) % 1 == 0

    def of(x: Fraction, y: Fraction) -> Fraction | None:
        if x == 0:
            return Fraction(y == 0) if y >= 0 else None
        if y % 1 == 0:
            exact = x ** int(y)
            return exact if whole and y >= 0 else half_away(exact, 6)
        return nearest(lambda: (ball(x).log() * ball(y)).exp())

    kept = base.decimals * int(exponent.of({})) if whole and exponent.of({}) >= 0 else 6
    return Term("number", kept, t.lifted(of, base, exponent))


# Days and moments


def clock(value: datetime.date) -> datetime.datetime:
    """What a wall clock shows: a day at midnight, an instant in UTC, a local time as it is."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return datetime.datetime(value.year, value.month, value.day)


PARTS: dict[str, tuple[int, Callable[[datetime.datetime], Fraction | int]]] = {
    "year": (0, lambda x: x.year),
    "quarter": (0, lambda x: (x.month + 2) // 3),
    "month": (0, lambda x: x.month),
    "week": (0, lambda x: x.isocalendar().week),
    "day": (0, lambda x: x.day),
    "hour": (0, lambda x: x.hour),
    "minute": (0, lambda x: x.minute),
    "second": (6, lambda x: Fraction(x.second * 10**6 + x.microsecond, 10**6)),
    "dow": (0, lambda x: x.isoweekday() % 7),
    "isodow": (0, lambda x: x.isoweekday()),
    "doy": (0, lambda x: x.timetuple().tm_yday),
    "isoyear": (0, lambda x: x.isocalendar().year),
    "epoch": (6, lambda x: Fraction((x - _EPOCH) // datetime.timedelta(microseconds=1), 10**6)),
}


def _extract(scalars: Scalars, node: exp.Extract) -> Term:
    inner = scalars.term(node.expression)
    decimals, part = PARTS[str(node.this.this).lower()]
    if inner.kind not in MOMENTS:
        raise Unknown(node.sql())
    kept = 0 if inner.kind == "date" else decimals
    return Term("number", kept, t.lifted(lambda x: Fraction(part(clock(x))), inner))


def _floor_to(unit: str, value: datetime.date) -> datetime.date:
    """The beginning of the year, month ... that a value lies in, of the same kind as the value."""
    moment = clock(value)
    if unit == "week":
        moment -= datetime.timedelta(days=moment.weekday())
    kept = {"year": 1, "quarter": 2, "month": 2, "week": 3, "day": 3, "hour": 4, "minute": 5, "second": 6}[unit]
    fields = [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second]
    if unit == "quarter":
        fields[1] = (moment.month - 1) // 3 * 3 + 1
    start = datetime.datetime(*(fields[:kept] + [1, 1, 1, 0, 0, 0][kept:]))  # type: ignore[arg-type]
    return start.replace(tzinfo=value.tzinfo) if isinstance(value, datetime.datetime) else start.date()


def _trunc(scalars: Scalars, node: exp.TimestampTrunc) -> Term:
    inner, unit = scalars.term(node.this), str(node.args["unit"].this).lower()
    if inner.kind not in MOMENTS:
        raise Unknown(node.sql())
    return Term(inner.kind, 0, t.lifted(lambda x: _floor_to(unit, x), inner))


def _zone(scalars: Scalars, node: exp.AtTimeZone) -> Term:
    inner, zone = scalars.term(node.this), ZoneInfo(str(node.args["zone"].unnest().this))

    def to_clock(value: datetime.date) -> datetime.datetime:
        return clock(value).replace(tzinfo=datetime.UTC).astimezone(zone).replace(tzinfo=None)

    def to_instant(value: datetime.datetime) -> datetime.datetime:
        first, second = (value.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        # A reading that occurs twice means the second; one that is skipped is counted as if clocks had not moved.
        chosen = second if second.utcoffset() < first.utcoffset() else first  # type: ignore[operator]
        return chosen.astimezone(datetime.UTC)

    if inner.kind == "local":
        return Term("timestamp", 0, t.lifted(to_instant, inner))
    return Term("local", 0, t.lifted(to_clock, inner))


def months_later(day: datetime.date, months: int) -> datetime.date:
    """The same day of a later month, or that month's last."""
    count = day.year * 12 + day.month - 1 + months
    year, month = count // 12, count % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, calendar.monthrange(year, month)[1]))


UNITS = {"year": (12, None), "month": (1, None), "week": (0, "weeks"), "day": (0, "days"), "hour": (0, "hours"),
         "minute": (0, "minutes"), "second": (0, "seconds")}  # fmt: skip


def _interval(node: exp.Interval) -> tuple[int, datetime.timedelta, bool]:
    """Months, the rest, and whether a part of it is smaller than days."""
    unit = node.args.get("unit")
    text = str(node.this.this) + ("" if unit is None else f" {unit.this}")
    months, rest, small = 0, datetime.timedelta(), False
    for count, word in re.findall(r"([+-]?\d+)\s*([A-Za-z]+)", text):
        each, name = UNITS[word.lower().removesuffix("s")]
        months += int(count) * each
        rest += datetime.timedelta(**{name: int(count)}) if name else datetime.timedelta()
        small = small or name in ("hours", "minutes", "seconds")
    return months, rest, small


def _plus(scalars: Scalars, node: exp.Expr, sign: int, numbers: Callable[[Term, Term], Term]) -> Term:
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Interval):
        left, right = right, left
    if isinstance(right, exp.Interval):
        months, rest, small = _interval(right)
        inner = scalars.term(left)

        def moved(value: datetime.date) -> datetime.date:
            start = clock(value) if small and inner.kind == "date" else value
            return months_later(start, sign * months) + sign * rest

        return Term("local" if small and inner.kind == "date" else inner.kind, 0, t.lifted(moved, inner))
    a, b = scalars.term(left), scalars.term(right)
    if sign > 0 and b.kind == "date":
        a, b = b, a
    if a.kind == "date" and b.kind == "literal":
        b = t.matched(b, a)
    if a.kind == b.kind == "date":
        return Term("number", 0, t.lifted(lambda x, y: Fraction((x - y).days), a, b))
    if a.kind == "date":
        return Term("date", 0, t.lifted(lambda x, y: x + sign * datetime.timedelta(days=int(y)), a, b))
    return numbers(a, b)


# Casts


def _cast(scalars: Scalars, node: exp.Cast) -> Term:
    to, inner = node.args["to"], scalars.term(node.this)
    kind = to.this
    if inner.kind == "literal" and kind in CASTS_OF_MOMENTS:
        text = str(inner.of({}))
        if kind == exp.DataType.Type.DATE:
            return t.constant("date", t.read_day(text))
        moment = t.read_instant(text)
        to_clock = CASTS_OF_MOMENTS[kind] == "local"
        return t.constant("local", clock(moment)) if to_clock else t.constant("timestamp", moment)
    if kind in CASTS_OF_MOMENTS and inner.kind in MOMENTS:
        return _to_moment(inner, CASTS_OF_MOMENTS[kind])
    number = inner if inner.kind != "boolean" else Term("number", 0, t.lifted(lambda x: Fraction(int(x)), inner))
    if kind == exp.DataType.Type.BOOLEAN:
        return inner if inner.kind == "boolean" else Term("boolean", 0, t.lifted(lambda x: x != 0, inner))
    if kind in (exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.SMALLINT):
        return Term("number", 0, t.lifted(lambda x: half_away(x, 0), number))
    if kind in (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE) and number.kind == "number":
        return number
    if kind == exp.DataType.Type.DECIMAL and number.kind == "number":
        if not to.expressions:
            return number
        decimals = int(str(to.expressions[1].this)) if len(to.expressions) > 1 else 0
        return Term("number", decimals, t.lifted(lambda x: half_away(x, decimals), number))
    raise Unknown(node.sql())


def _to_moment(inner: Term, kind: str) -> Term:
    def of(value: datetime.date) -> datetime.date:
        moment = clock(value)
        return moment.date() if kind == "date" else moment if kind == "local" else moment.replace(tzinfo=datetime.UTC)

    return Term(kind, 0, t.lifted(of, inner))


CASTS_OF_MOMENTS = {
    exp.DataType.Type.DATE: "date",
    exp.DataType.Type.TIMESTAMP: "local",
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
}


# Texts

SIMPLE = {"ß": "ẞ", "ﬁ": "ﬁ"}  # among the letters of the tests, those whose upper case would be several


def _text(function: Callable[..., Any], *names: str) -> Callable[[Scalars, Any], Term]:
    def rule(scalars: Scalars, node: exp.Expr) -> Term:
        given = [node.args.get(name) for name in ("this", *names)]
        terms = [scalars.term(part) for part in given if part is not None]
        return Term("text", 0, t.lifted(function, *terms))

    return rule


def _substring(text: str, start: Fraction, length: Fraction | None = None) -> str:
    first = int(start)
    end = len(text) + 1 if length is None else first + int(length)
    return text[max(first, 1) - 1 : max(end, 1) - 1]


def _trim(scalars: Scalars, node: exp.Trim) -> Term:
    position = str(node.args.get("position") or "BOTH").upper()
    strip = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}[position]
    return Term("text", 0, t.lifted(lambda text: strip(text, " "), scalars.term(node.this)))


RULES.update(
    {
        exp.Floor: _whole(math.floor),
        exp.Ceil: _whole(math.ceil),
        exp.Sign: _whole(lambda x: (x > 0) - (x < 0)),
        exp.Round: _stepwise(half_away),
        exp.Trunc: _stepwise(_truncated),
        exp.WidthBucket: _bucket,
        exp.Sqrt: _root,
        exp.Ln: _log,
        exp.Log: _log,
        exp.Exp: lambda scalars, node: Term(
            "number", 6, t.lifted(lambda x: nearest(lambda: ball(x).exp()), scalars.term(node.this))
        ),
        exp.Pow: _power,
        exp.Extract: _extract,
        exp.TimestampTrunc: _trunc,
        exp.AtTimeZone: _zone,
        exp.Add: lambda scalars, node: _plus(scalars, node, 1, t.add),
        exp.Sub: lambda scalars, node: _plus(scalars, node, -1, t.subtract),
        exp.Cast: _cast,
        exp.Lower: _text(lambda text: "".join(SIMPLE.get(one) or one.lower() for one in text)),
        exp.Upper: _text(lambda text: "".join(SIMPLE.get(one) or one.upper() for one in text)),
        exp.Substring: _text(_substring, "start", "length"),
        exp.Left: _text(lambda text, count: text[: int(count)], "expression"),
        exp.Trim: _trim,
        exp.Length: lambda scalars, node: Term(
            "number", 0, t.lifted(lambda x: Fraction(len(x)), scalars.term(node.this))
        ),
        exp.DPipe: _text(lambda a, b: a + b, "expression"),
    }
)
