"""Parts, periods, differences and sums of days and moments, each in PostgreSQL's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from dither.sql.text.dialects.call import Call, Rule, inside, whole

Part = Callable[[exp.Expr], exp.Expr]
Parts = dict[str, Part]
Units = dict[str, str]


def extracted(name: str) -> Part:
    """A part as an integer, which it is in every dialect but PostgreSQL's."""
    return lambda value: cast(_extract(name, value), "BIGINT")


def _extract(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Extract(this=exp.Var(this=name.upper()), expression=value)


def cast(value: exp.Expr, to: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType(this=exp.DType[to], nested=False))


def _later(name: str, by: int) -> Part:
    """A part that is counted from another number on."""
    operator = exp.Add if by > 0 else exp.Sub
    return lambda value: exp.Paren(this=operator(this=extracted(name)(value), expression=whole(abs(by))))


def _seconds(value: exp.Expr) -> exp.Expr:
    """Whole seconds: PostgreSQL's have a fraction."""
    return cast(exp.Floor(this=_extract("second", value)), "BIGINT")


_PLAIN = ("year", "quarter", "month", "day", "hour", "minute")
PLAIN: Parts = {name: extracted(name) for name in _PLAIN}
WHOLE_SECONDS: Parts = {"second": _seconds}
ISO_WEEK: Parts = {name: extracted("week") for name in ("week", "weekofyear", "week_of_year")}
SUNDAY_IS_ONE: Part = _later("dow", 1)
MONDAY_IS_ZERO: Part = _later("isodow", -1)

_LENGTHS = ("year", "quarter", "month", "day", "hour", "minute", "second")
LENGTHS: Units = {name: name for name in _LENGTHS}
MONDAY_WEEKS: Units = {"week": "week"}


def part_of(name: str, part: Part | None = None) -> Rule:
    """YEAR(x) as EXTRACT(YEAR FROM x)."""

    def rule(call: Call) -> exp.Expr:
        call.takes(1)
        return (part or extracted(name))(call.value(0))

    return rule


FUNCTIONS_OF_PARTS: dict[str, Rule] = {name.upper(): part_of(name) for name in _PLAIN}
SECOND: dict[str, Rule] = {"SECOND": part_of("second", _seconds)}


def date_part(parts: Parts) -> Rule:
    """DATE_PART(part, x), the part bare or in quotes."""

    def rule(call: Call) -> exp.Expr:
        call.takes(2)
        part = parts.get(call.word(0))
        if part is None:
            raise call.refusal(f"the part {call.word(0)[:40]!r} of {call.name} is not translated", listed(parts))
        return part(call.value(1))

    return rule


def truncation(units: Units, *, unit_first: bool = True) -> Rule:
    """DATE_TRUNC(unit, x), or DATE_TRUNC(x, unit)."""

    def rule(call: Call) -> exp.Expr:
        call.takes(2)
        place = 0 if unit_first else 1
        unit = units.get(_unit(call, place))
        if unit is None:
            raise call.refusal(f"the unit {_unit(call, place)[:40]!r} of {call.name} is not translated", listed(units))
        return exp.TimestampTrunc(this=call.value(1 - place), unit=exp.Var(this=unit.upper()))

    return rule


def _unit(call: Call, place: int) -> str:
    """A unit, also one with the day that it begins on: WEEK(MONDAY)."""
    node = call.arguments[place]
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Column):
        return f"{node.name.lower()}({node.expressions[0].name.lower()})"
    return call.word(place)


def start_of(unit: str) -> Rule:
    def rule(call: Call) -> exp.Expr:
        call.takes(1)
        return exp.TimestampTrunc(this=call.value(0), unit=exp.Var(this=unit.upper()))

    return rule


def day(call: Call) -> exp.Expr:
    """DATE(x)."""
    call.takes(1)
    return cast(call.value(0), "DATE")


def _days(call: Call, later: int, earlier: int) -> exp.Expr:
    left, right = (cast(call.value(place), "DATE") for place in (later, earlier))
    return exp.Paren(this=exp.Sub(this=left, expression=right))


def days_between(call: Call) -> exp.Expr:
    """DATEDIFF(later, earlier), in days."""
    call.takes(2)
    return _days(call, 0, 1)


def difference(unit_at: int, later: int, earlier: int) -> Rule:
    """How many days, months, quarters or years begin between two dates: DATEDIFF(unit, earlier, later) and the like."""

    def rule(call: Call) -> exp.Expr:
        call.takes(3)
        unit = _unit(call, unit_at)
        if unit == "day":
            return _days(call, later, earlier)
        counts = {"year": 1, "quarter": 4, "month": 12}
        if unit not in counts:
            raise call.refusal(
                f"{call.name} in {unit[:40]!r} is not translated", "Units are day, month, quarter and year."
            )
        ends = [_count(call, place, unit, counts[unit]) for place in (later, earlier)]
        return exp.Paren(this=exp.Sub(this=ends[0], expression=ends[1]))

    return rule


def _count(call: Call, place: int, unit: str, a_year: int) -> exp.Expr:
    """How many such units there were since the year 0."""
    years = exp.Mul(this=extracted("year")(call.value(place)), expression=whole(a_year))
    if unit == "year":
        return extracted("year")(call.value(place))
    return exp.Paren(this=exp.Add(this=years, expression=extracted(unit)(call.value(place))))


def _moved(value: exp.Expr, count: int, unit: str) -> exp.Expr:
    operator = exp.Add if count >= 0 else exp.Sub
    interval = exp.Interval(this=exp.Literal.string(str(abs(count))), unit=exp.Var(this=unit.upper()))
    return exp.Paren(this=operator(this=inside(value), expression=interval))


def later_by(sign: int) -> Rule:
    """DATE_ADD(x, INTERVAL 1 DAY) and DATE_SUB."""

    def rule(call: Call) -> exp.Expr:
        call.takes(2)
        if not isinstance(call.arguments[1], exp.Interval):
            raise call.refusal(
                f"{call.name} without an interval is not translated", f"Write {call.name}(x, INTERVAL 7 DAY)."
            )
        operator = exp.Add if sign > 0 else exp.Sub
        return exp.Paren(this=operator(this=inside(call.value(0)), expression=call.value(1)))

    return rule


def later_by_units(units: Units) -> Rule:
    """DATEADD(unit, count, x)."""

    def rule(call: Call) -> exp.Expr:
        call.takes(3)
        unit, count = units.get(call.word(0)), call.whole(1, least=-(10**6))
        if unit is None or count is None:
            raise call.refusal(
                f"{call.name} with this unit or without a written number is not translated",
                f"Write {call.name}(day, 7, x).",
            )
        return _moved(call.value(2), count, unit)

    return rule


def later_by_days(sign: int) -> Rule:
    """Spark's DATE_ADD(x, days), which makes a day of a moment first."""

    def rule(call: Call) -> exp.Expr:
        call.takes(2)
        if isinstance(call.arguments[1], exp.Interval):
            raise call.refusal(f"{call.name} with an interval is not translated", f"Write {call.name}(x, 7).")
        operator = exp.Add if sign > 0 else exp.Sub
        return exp.Paren(this=operator(this=cast(call.value(0), "DATE"), expression=inside(call.value(1))))

    return rule


def listed(known: Mapping[str, object]) -> str:
    return f"Translated are {', '.join(known)}."
