"""Time zones as step functions: when a zone's distance from UTC changed, exactly, whatever an engine's own rules are.

Rules come from the installed `tzdata` package and from nowhere else, so that one version means one answer everywhere.
The few kept last are shared by all who ask: some kilobytes each, and read again in a millisecond.
"""

from __future__ import annotations

import io
import re
import struct
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
MOST_CHANGES = 1_000
_NAME, _TIME = r"(?:<[^>]+>|[A-Za-z]+)", r"[+-]?\d+(?::\d+){0,2}"
_RULE = re.compile(
    rf"{_NAME}(?P<standard>{_TIME}){_NAME}(?P<summer>{_TIME})?"
    rf",M(?P<m1>\d+)\.(?P<w1>\d)\.(?P<d1>\d)(?:/(?P<t1>{_TIME}))?"
    rf",M(?P<m2>\d+)\.(?P<w2>\d)\.(?P<d2>\d)(?:/(?P<t2>{_TIME}))?"
)


class UnknownZone(ValueError):
    """There is no time zone of that name."""


class TooManyChanges(ValueError):
    """The zone changes its offset too often between the two moments."""


def zone_name(text: str) -> str:
    """The zone's own spelling of its name, which is found without regard to case."""
    found = _names().get(text.lower())
    if found is None:
        raise UnknownZone(text)
    return found


@lru_cache(maxsize=64)
def offsets(name: str, low: int, high: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The moments in (low, high] at which the zone's offset changes, and the offsets before, between and after them.

    All in microseconds; moments count from 1970 in UTC, offsets are local time minus UTC.
    """
    zone = _zone(name)
    starts: list[int] = []
    found = [_offset(zone, low // _SECOND)]
    for moment in _changes(name, low, high):
        after = _offset(zone, moment)
        if after != found[-1]:
            starts.append(moment * _SECOND)
            found.append(after)
    return tuple(starts), tuple(found)


def _changes(name: str, low: int, high: int) -> list[int]:
    """Seconds at which something about the zone may change: those in its file, then those that its last rule makes."""
    first, last = low // _SECOND, high // _SECOND
    listed, rule = _listed(name)
    changes = [moment for moment in listed if first < moment <= last]
    start = max(first, listed[-1] if listed else first)
    if rule and last > start:
        years = range(_year(start) - 1, _year(last) + 2)
        if 2 * len(years) > MOST_CHANGES:
            raise TooManyChanges(name)
        changes += [moment for year in years for moment in _ruled(rule, year) if start < moment <= last]
    return changes


def _year(second: int) -> int:
    return 1970 + second // 31_556_952  # of the average year: right to within one


def _ruled(rule: str, year: int) -> list[int]:
    """The two changes of a year by a rule such as CET-1CEST,M3.5.0,M10.5.0/3: POSIX, with hours from -167 to 167."""
    found = _RULE.fullmatch(rule)
    if found is None or not datetime.min.year < year < datetime.max.year:
        return []
    standard = _seconds(found["standard"])
    summer = _seconds(found["summer"]) if found["summer"] else standard - 3600
    # The first change is told by standard time, the second by summer time; such offsets count westwards.
    start = _day(year, found["m1"], found["w1"], found["d1"]) + _seconds(found["t1"] or "2") + standard
    end = _day(year, found["m2"], found["w2"], found["d2"]) + _seconds(found["t2"] or "2") + summer
    return sorted((start, end))


def _day(year: int, month: str, week: str, weekday: str) -> int:
    """Midnight of the n-th weekday of a month (0 is Sunday, the fifth is the last), in seconds since 1970."""
    first = date(year, int(month), 1)
    day = first + timedelta(days=(int(weekday) - first.isoweekday()) % 7 + 7 * (int(week) - 1))
    day = day - timedelta(days=7) if day.month != int(month) else day
    return (day - _EPOCH.date()).days * 86_400


def _seconds(text: str) -> int:
    """[+-]h[:m[:s]] in seconds."""
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    size = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -size if text.startswith("-") else size


def _offset(zone: ZoneInfo, second: int) -> int:
    """Microseconds from UTC to local time. Beyond what Python's dates hold, the nearest it can say."""
    moment = min(max(second, -62_135_510_400), 253_402_214_400)  # a day inside the years 1 and 9999
    distance = (_EPOCH + timedelta(seconds=moment)).astimezone(zone).utcoffset()
    return 0 if distance is None else distance // timedelta(microseconds=1)


@lru_cache(maxsize=32)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo.from_file(io.BytesIO(_file(name)), key=name)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    lines = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return {name.lower(): name for name in lines}


@lru_cache(maxsize=32)
def _file(name: str) -> bytes:
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


@lru_cache(maxsize=32)
def _listed(name: str) -> tuple[tuple[int, ...], str]:
    """The seconds of change that a zone's file lists, and the rule by which it goes on changing; empty if it does not.

    RFC 8536: a block of 32-bit times, one of 64-bit times, and a line that has a comma if there is a rule.
    """
    content = _file(name)
    head = struct.Struct(">4s1s15x6l")
    *_, utc, standard, leap, times, types, letters = head.unpack_from(content)
    second = head.size + times * 5 + types * 6 + letters + leap * 8 + standard + utc
    *_, times, _, _ = head.unpack_from(content, second)
    rule = content.rstrip(b"\n").rpartition(b"\n")[2].decode("ascii")
    if "," in rule and not _RULE.fullmatch(rule):
        raise UnknownZone(name)
    return struct.unpack_from(f">{times}q", content, second + head.size), rule if "," in rule else ""
