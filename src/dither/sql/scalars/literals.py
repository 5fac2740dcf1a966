"""Numbers, dates and times written in a query, read exactly. A ValueError says what is wrong with one."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from dither.sql.expressions import Constant

MOST_DECIMALS = 18
LARGEST = 2**126
DAY = 86_400_000_000  # microseconds

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)


def number(text: str) -> Constant:
    """A whole number, or a decimal one if written with a point or an exponent (then with one decimal at least)."""
    if len(text) > 60:
        raise ValueError("the number has too many digits.")
    _, digits, exponent = Decimal(text).as_tuple()
    if not isinstance(exponent, int) or exponent > 60 or exponent < -60:
        raise ValueError("the number is too large or too small.")
    decimal = any(sign in text for sign in ".eE")
    decimals = max(-exponent, 1 if decimal else 0)
    if decimals > MOST_DECIMALS:
        raise ValueError(f"at most {MOST_DECIMALS} decimals are kept.")
    value = int("".join(map(str, digits))) * 10 ** (exponent + decimals)
    if value >= LARGEST:
        raise ValueError("the number is too large.")
    return Constant(value, decimals)


def day(text: str) -> int:
    """Days since 1970-01-01."""
    if not _DATE.fullmatch(text):
        raise ValueError("a date is written DATE '2024-12-31'.")
    return (datetime.date.fromisoformat(text) - _EPOCH.date()).days


def instant(text: str) -> int:
    """Microseconds since 1970-01-01 in UTC; a time without zone is UTC, a date alone is its midnight."""
    if not _TIME.fullmatch(text):
        raise ValueError("a timestamp is written TIMESTAMP '2024-12-31 23:59:59'.")
    read = datetime.datetime.fromisoformat(text)
    read = read.replace(tzinfo=datetime.UTC) if read.tzinfo is None else read
    return (read - _EPOCH) // datetime.timedelta(microseconds=1)
