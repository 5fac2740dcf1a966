"""Days and moments."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from dither.errors import ParameterError
from dither.policy.columns.column import Coded

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, repr=False)
class Date(Coded):
    """Days in [lower, upper], given as dates or ISO text."""

    kind = "date"
    shown = "date"
    stated = ("lower", "upper")
    expected = "days such as 2024-12-31"
    _listed = True
    _beyond = "after"
    lower: datetime.date | str
    upper: datetime.date | str

    def _normalise(self) -> None:
        self._keep(lower=_read_date(self.lower))
        self._keep(upper=_read_date(self.upper))
        self._check_range()

    @property
    def low(self) -> int:
        return _day(self.lower)

    @property
    def high(self) -> int:
        return _day(self.upper)

    def encode(self, value: object) -> int:
        return self._code(_day(value), value)

    def decode(self, code: int) -> datetime.date:
        return _EPOCH.date() + datetime.timedelta(days=code)


@dataclass(frozen=True, repr=False)
class Timestamp(Coded):
    """Instants in [lower, upper], to the microsecond; a time without zone is read as UTC."""

    kind = "timestamp"
    shown = "timestamp"
    stated = ("lower", "upper")
    separator = "/"
    expected = "times such as 2024-12-31 23:59:59"
    _beyond = "after"
    lower: datetime.datetime | str
    upper: datetime.datetime | str

    def _normalise(self) -> None:
        self._keep(lower=_read_instant(self.lower))
        self._keep(upper=_read_instant(self.upper))
        self._check_range()

    @property
    def low(self) -> int:
        return _microsecond(self.lower)

    @property
    def high(self) -> int:
        return _microsecond(self.upper)

    def encode(self, value: object) -> int:
        return self._code(_microsecond(value), value)

    def decode(self, code: int) -> datetime.datetime:
        return _EPOCH + code * _MICROSECOND


def _day(value: object) -> int:
    return (_read_date(value) - _EPOCH.date()).days


def _microsecond(value: object) -> int:
    return (_read_instant(value) - _EPOCH) // _MICROSECOND


def _read_date(value: object) -> datetime.date:
    try:
        if isinstance(value, str):
            return datetime.date.fromisoformat(value)
    except ValueError:
        pass
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ParameterError(f'a date is written like "2024-12-31"; got {value!r}.')
    return value


def _read_instant(value: object) -> datetime.datetime:
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
    except ValueError:
        pass
    if not isinstance(value, datetime.datetime):
        raise ParameterError(f'a timestamp is written like "2024-12-31T23:59:59+00:00"; got {value!r}.')
    return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
