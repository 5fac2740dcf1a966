"""Time zones as step functions: when a zone's distance from UTC changed, exactly, whatever an engine's own rules are.

Rules come from the installed `tzdata` package and from nowhere else, so that one version means one answer everywhere.
"""

from __future__ import annotations

import io
import struct
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
MOST_CHANGES = 1_000
_PROBE = 28 * 86_400  # rules that go on for ever change at most once in so many seconds


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
    listed, goes_on = _listed(name)
    changes = [moment for moment in listed if first < moment <= last]
    zone, start = _zone(name), max(first, listed[-1] if listed else first)
    if goes_on and last - start > MOST_CHANGES // 2 * 366 * 86_400:  # two changes a year
        raise TooManyChanges(name)
    before = _offset(zone, start)
    while goes_on and start < last:
        end = min(start + _PROBE, last)
        after = _offset(zone, end)
        if before != after:
            changes.append(_change(zone, start, end))
        start, before = end, after
    return changes


def _change(zone: ZoneInfo, before: int, after: int) -> int:
    """The first second with the offset of `after`, by halving."""
    wanted = _offset(zone, after)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if _offset(zone, middle) == wanted else (middle, after)
    return after


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
def _listed(name: str) -> tuple[tuple[int, ...], bool]:
    """The seconds of change that a zone's file lists, and whether it goes on changing by a rule after them.

    RFC 8536: a block of 32-bit times, one of 64-bit times, and a line that has a comma if there is a rule.
    """
    content = _file(name)
    head = struct.Struct(">4s1s15x6l")
    *_, utc, standard, leap, times, types, letters = head.unpack_from(content)
    second = head.size + times * 5 + types * 6 + letters + leap * 8 + standard + utc
    *_, times, _, _ = head.unpack_from(content, second)
    moments = struct.unpack_from(f">{times}q", content, second + head.size)
    return moments, b"," in content.rstrip(b"\n").rpartition(b"\n")[2]
