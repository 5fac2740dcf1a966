"""Zones as step functions equal zoneinfo at every change, at random moments, and far beyond the listed changes."""

from __future__ import annotations

import datetime
import io
import random
from bisect import bisect_right
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from dither.sql.scalars import zones

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
NAMES = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()


def instant(text: str) -> int:
    return (datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC) - EPOCH) // MICROSECOND


def zone(name: str) -> ZoneInfo:
    content = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    return ZoneInfo.from_file(io.BytesIO(content), key=name)


def offset(there: ZoneInfo, moment: int) -> int:
    distance = (EPOCH + moment * MICROSECOND).astimezone(there).utcoffset()
    assert distance is not None
    return distance // MICROSECOND


HARD = ["Europe/Berlin", "Europe/Dublin", "Africa/Casablanca", "Pacific/Apia", "America/Caracas", "Antarctica/Troll"]


@pytest.mark.parametrize("name", [*HARD, *NAMES[:: len(NAMES) // 30]])
def test_offsets_equal_zoneinfo(name):
    low, high = instant("1890-01-01"), instant("2120-12-31")
    starts, offsets = zones.offsets(name, low, high)
    there, chosen = zone(name), random.Random(name)
    moments = [chosen.randint(low, high) for _ in range(200)] + [start + by for start in starts for by in (-1, 0, 1)]
    for moment in (low, high, *moments):
        if low <= moment <= high:
            assert offsets[bisect_right(starts, moment)] == offset(there, moment)
    assert all(one != other for one, other in pairwise(offsets))


def test_a_change_missed_would_be_seen():
    """The comparison above finds a table with one change left out."""
    low, high = instant("2020-01-01"), instant("2021-01-01")
    starts, offsets = zones.offsets("Europe/Berlin", low, high)
    assert len(starts) == 2
    there = zone("Europe/Berlin")
    assert offsets[bisect_right(starts[1:], starts[0])] != offset(there, starts[0])


def test_names_are_found_in_any_case_and_no_others():
    assert zones.zone_name("europe/BERLIN") == "Europe/Berlin"
    for name in ("", "Berlin", "../zones", "Europe", "Europe/Berlin ", "/etc/passwd"):
        with pytest.raises(zones.UnknownZone):
            zones.zone_name(name)


def test_too_many_changes_are_refused_before_they_are_looked_for():
    with pytest.raises(zones.TooManyChanges):
        zones.offsets("Europe/Berlin", instant("0001-01-01"), instant("9999-12-31"))
    assert zones.offsets("UTC", instant("0001-01-01"), instant("9999-12-31")) == ((), (0,))


def test_every_zone_can_be_read():
    """A rule of a kind that is not known would be refused, so there must be none."""
    for name in NAMES:
        starts, _ = zones.offsets(name, instant("2100-01-01"), instant("2101-12-31"))
        assert len(starts) in (0, 4)
