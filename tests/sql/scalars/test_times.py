"""Days, moments, intervals and zones equal Python's calendar on every row, whatever the engine's own zone is."""

from __future__ import annotations

import calendar
import datetime
import io
from collections.abc import Callable
from fractions import Fraction
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dither.errors import UnsupportedQuery

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def date(days: int) -> datetime.date:
    return EPOCH.date() + datetime.timedelta(days=days)


def moment(microseconds: int) -> datetime.datetime:
    return EPOCH + microseconds * MICROSECOND


def back(value: datetime.date | datetime.datetime) -> int:
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MICROSECOND
    return (value - EPOCH.date()).days


def expected(bench: Any, column: str, function: Callable[[Any], Any]) -> list[Any]:
    read = moment if column == "at" else date
    return [None if row[column] is None else function(read(row[column])) for row in bench.rows]


PARTS: dict[str, Callable[[Any], int]] = {
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month - 1) // 3 + 1,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "week": lambda d: d.isocalendar()[1],
    "isoyear": lambda d: d.isocalendar()[0],
    "dow": lambda d: d.isoweekday() % 7,
    "isodow": lambda d: d.isoweekday(),
    "doy": lambda d: d.timetuple().tm_yday,
}
TIMES: dict[str, Callable[[datetime.datetime], int]] = {
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second * 10**6 + t.microsecond,  # six decimals
    "epoch": lambda t: back(t),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("column", ["day", "near", "at"])
def test_parts_of_days(bench, part, column):
    wanted = expected(bench, column, PARTS[part])
    assert bench.values(f"EXTRACT({part} FROM {column})") == wanted
    assert bench.values(f"date_part('{part.upper()}', {column})") == wanted


@pytest.mark.parametrize("part", TIMES)
def test_parts_of_moments(bench, part):
    assert bench.values(f"EXTRACT({part} FROM at)") == expected(bench, "at", TIMES[part])
    seconds = 86_400 if part == "epoch" else 0
    wanted = [value if value is None else back(value) * seconds for value in expected(bench, "day", lambda d: d)]
    assert bench.values(f"EXTRACT({part} FROM day) + n * 0") == wanted or part != "epoch"


def truncated(unit: str, value: Any) -> Any:
    midnight = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    if isinstance(value, datetime.datetime):
        kept = {"hour": 1, "minute": 2, "second": 3}.get(unit, 0)
        value = value.replace(**dict(list(midnight.items())[kept:]))
    if unit == "week":
        return value - datetime.timedelta(days=value.weekday())
    month = {"year": 1, "quarter": (value.month - 1) // 3 * 3 + 1}.get(unit, value.month)
    return value.replace(month=month, day=1) if unit in ("year", "quarter", "month") else value


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour", "minute", "second"])
@pytest.mark.parametrize("column", ["day", "near", "at"])
def test_truncation(bench, unit, column):
    wanted = expected(bench, column, lambda value: back(truncated(unit, value)))
    assert bench.values(f"DATE_TRUNC('{unit}', {column})") == wanted
    assert bench.bind(f"DATE_TRUNC('{unit}', {column})").kind == ("timestamp" if column == "at" else "date")


def moved(value: Any, months: int = 0, **steps: int) -> Any:
    if months:
        year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        value = value.replace(year=year, month=month + 1, day=min(value.day, last))
    return value + datetime.timedelta(**steps)


INTERVALS: dict[str, dict[str, int]] = {
    "1 month": {"months": 1},
    "-1 month": {"months": -1},
    "13 months": {"months": 13},
    "1 year": {"months": 12},
    "1 year 2 months 3 days": {"months": 14, "days": 3},
    "2 weeks": {"days": 14},
    "-100 days": {"days": -100},
    "1 week -7 days": {},
}
TIME_INTERVALS: dict[str, dict[str, int]] = {
    "36 hours": {"hours": 36},
    "1 month 90 minutes": {"months": 1, "minutes": 90},
    "-1 second": {"seconds": -1},
}


@pytest.mark.parametrize("text", INTERVALS)
@pytest.mark.parametrize("column", ["day", "near", "at"])
def test_whole_intervals_are_added_as_postgresql_adds_them(bench, text, column):
    steps = INTERVALS[text]
    assert bench.values(f"{column} + INTERVAL '{text}'") == expected(bench, column, lambda v: back(moved(v, **steps)))
    opposite = {name: -size for name, size in steps.items()}
    assert bench.values(f"{column} - INTERVAL '{text}'") == expected(
        bench, column, lambda v: back(moved(v, **opposite))
    )
    assert bench.values(f"INTERVAL '{text}' + {column}") == bench.values(f"{column} + INTERVAL '{text}'")


@pytest.mark.parametrize("text", TIME_INTERVALS)
def test_intervals_smaller_than_a_day_make_moments(bench, text):
    steps = TIME_INTERVALS[text]
    assert bench.values(f"at + INTERVAL '{text}'") == expected(bench, "at", lambda t: back(moved(t, **steps)))
    midnight = datetime.time()
    wanted = expected(bench, "day", lambda d: back(moved(datetime.datetime.combine(d, midnight), **steps)))
    assert bench.values(f"day + INTERVAL '{text}'") == wanted
    assert bench.bind(f"day + INTERVAL '{text}'").kind == "local"


def test_interval_units_may_stand_outside_the_quotes(bench):
    assert bench.bind("day + INTERVAL '3' DAY").node == bench.bind("day + INTERVAL '3 days'").node
    assert bench.bind("day - interval '2' month").node == bench.bind("day - INTERVAL '2 MONTHS'").node


def test_days_are_numbers_apart(bench):
    days = [row["day"] for row in bench.rows]
    assert bench.values("day + 5") == bench.values("5 + day") == [d if d is None else d + 5 for d in days]
    assert bench.values("day - n") == [None if r["day"] is None else r["day"] - r["n"] for r in bench.rows]
    wanted = [None if None in (r["day"], r["near"]) else r["day"] - r["near"] for r in bench.rows]
    assert bench.values("day - near") == wanted
    assert bench.values("day - '2000-01-01'") == [d if d is None else d - 10957 for d in days]
    seconds = [None if r["at"] is None else r["at"] - back(datetime.datetime(2000, 1, 1, 12)) for r in bench.rows]
    assert bench.values("EXTRACT(EPOCH FROM (at - TIMESTAMP '2000-01-01 12:00:00'))") == seconds
    assert bench.bind("EXTRACT(EPOCH FROM (at - day))").node.scale == 6


def test_days_and_moments_are_cast_at_utc(bench):
    assert bench.values("CAST(at AS DATE)") == expected(bench, "at", lambda t: back(t.date()))
    midnight = [None if r["day"] is None else r["day"] * 86_400_000_000 for r in bench.rows]
    assert bench.values("CAST(day AS TIMESTAMP)") == bench.values("day::timestamptz") == midnight
    assert bench.values("at::timestamp") == bench.values("at")
    assert bench.bind("CAST(at AS TIMESTAMP)").kind == "local"
    assert bench.bind("CAST(at AS TIMESTAMP WITH TIME ZONE)").kind == "timestamp"


ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe", "UTC", "Etc/GMT+5"]


def zone(name: str) -> ZoneInfo:
    content = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    return ZoneInfo.from_file(io.BytesIO(content), key=name)


@pytest.mark.parametrize("name", ZONES)
def test_instants_on_the_wall_clocks_of_a_zone(bench, name):
    there = zone(name)

    def clock(instant: datetime.datetime) -> int:
        return back(instant.replace(tzinfo=datetime.UTC).astimezone(there).replace(tzinfo=None))

    assert bench.values(f"at AT TIME ZONE '{name}'") == expected(bench, "at", clock)
    assert bench.bind(f"at AT TIME ZONE '{name.upper()}'").node == bench.bind(f"at AT TIME ZONE '{name}'").node
    hours = expected(bench, "at", lambda t: moment(clock(t)).hour)
    assert bench.values(f"EXTRACT(hour FROM at AT TIME ZONE '{name}')") == hours


@pytest.mark.parametrize("name", ZONES)
def test_wall_clocks_of_a_zone_read_as_instants(bench, name):
    """In a gap the offset before it counts, of two equal readings the later one: PostgreSQL's rule."""
    there = zone(name)

    def instant(reading: datetime.datetime) -> int:
        early, late = (reading.replace(tzinfo=there, fold=fold).utcoffset() for fold in (0, 1))
        # In a gap fold=0 is the offset before it (the smaller one); in a fold fold=1 is the later, smaller offset.
        return back(reading - min(early, late))

    assert bench.values(f"(at AT TIME ZONE 'UTC') AT TIME ZONE '{name}'") == expected(bench, "at", instant)
    assert bench.bind(f"CAST(at AS TIMESTAMP) AT TIME ZONE '{name}'").kind == "timestamp"


def test_gaps_and_folds_of_one_zone(bench):
    def read(text: str) -> str:
        return moment(bench.bind(f"TIMESTAMP '{text}' AT TIME ZONE 'Europe/Berlin'").node.value).isoformat()

    assert read("2024-03-31 01:59:59") == "2024-03-31T00:59:59"
    assert read("2024-03-31 02:30:00") == "2024-03-31T01:30:00"  # in the gap, by winter time
    assert read("2024-03-31 03:00:00") == "2024-03-31T01:00:00"
    assert read("2024-10-27 01:59:59") == "2024-10-26T23:59:59"
    assert read("2024-10-27 02:30:00") == "2024-10-27T01:30:00"  # twice, the second time is meant
    assert read("2024-10-27 03:00:00") == "2024-10-27T02:00:00"


def test_days_grouped_by_the_clocks_of_a_zone(bench):
    there = zone("Europe/Berlin")
    wanted = expected(
        bench,
        "at",
        lambda t: (
            t.replace(tzinfo=datetime.UTC)
            .astimezone(there)
            .replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
        ),
    )
    code, declaration = bench.key("DATE_TRUNC('day', at AT TIME ZONE 'Europe/Berlin')")
    assert [None if c is None else declaration.decode(c) for c in bench.run(code)] == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("day + INTERVAL '8000 years'", "outside the years 1 to 9999"),
        ("day - 800000", "outside the years 1 to 9999"),
        ("at - INTERVAL '2000 years'", "outside the years 1 to 9999"),
        ("day + INTERVAL '1.5 days'", "cannot be read"),
        ("day + INTERVAL '1 fortnight'", "cannot be read"),
        ("day + INTERVAL ''", "empty or too long"),
        ("day + INTERVAL '2 quarters'", "cannot be read"),
        ("day + INTERVAL '1 day 02:00:00'", "has no meaning"),  # the parser forgets the time
        ("day + INTERVAL '999999999 days'", "too long"),
        ("INTERVAL '1 day'", "can only be added"),
        ("n * INTERVAL '1 day'", "can only be added"),
        ("x + INTERVAL '1 day'", "takes a date or timestamp, not a number"),
        ("at - at", "is an interval"),
        ("at - day", "is an interval"),
        ("day + 0.5", "moves by whole days"),
        ("day + day", "a number is needed here, not a date"),
        ("day * 2", "a number is needed here, not a date"),
        ("EXTRACT(century FROM day)", "does not know the part 'century'"),
        ("EXTRACT(yer FROM day)", "Did you mean year?"),
        ("EXTRACT(year FROM x)", "takes a date or timestamp, not a number"),
        ("EXTRACT(year FROM '2024-01-01')", "Write DATE '2024-12-31'"),
        ("DATE_TRUNC('decade', day)", "does not know the unit 'decade'"),
        ("DATE_TRUNC('day', at, 'Europe/Berlin')", "this argument of DATE_TRUNC is not supported"),
        ("at AT TIME ZONE 'Europe/Atlantis'", "there is no time zone 'Europe/Atlantis'"),
        ("at AT TIME ZONE '../../etc/passwd'", "there is no time zone"),
        ("at AT TIME ZONE name", "a name in single quotes"),
        ("x AT TIME ZONE 'UTC'", "takes a date or timestamp, not a number"),
        ("timezone('UTC', at)", "Write x AT TIME ZONE"),
    ],
)
def test_refused(bench, text, said):
    with pytest.raises(UnsupportedQuery) as caught:
        bench.bind(text)
    assert said in str(caught.value)
    assert caught.value.line == 1
    assert caught.value.column >= 14


def test_a_zone_with_too_many_changes_is_refused_at_once(bench):
    wide = "COALESCE(at, TIMESTAMPTZ '9000-01-01 00:00:00')"
    with pytest.raises(UnsupportedQuery, match="more than 1000 changes"):
        bench.bind(f"{wide} AT TIME ZONE 'Europe/Berlin'")


def test_a_query_names_a_few_zones_only(bench):
    zones = ("UTC", "Europe/Berlin", "Asia/Tokyo", "Europe/London", "Europe/Paris")
    few = " = ".join(f"(at AT TIME ZONE '{name}' > at)" for name in zones[:4])
    assert bench.bind(few)
    with pytest.raises(UnsupportedQuery, match="more than 4 time zones"):
        bench.bind(" = ".join(f"(at AT TIME ZONE '{name}' > at)" for name in zones))


def test_seconds_are_exact(bench):
    found = bench.values("EXTRACT(second FROM at)")
    assert Fraction(max(value for value in found if value is not None), 10**6) == Fraction("59.999999")
