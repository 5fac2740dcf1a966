"""Dates and times as whole numbers of days, seconds or parts of them since 1970 in UTC, which no value overflows.

A source's column of them is brought in as those numbers; its type says what they count.
"""

from __future__ import annotations

_DAY = 86_400 * 10**9
_UNITS = {"S": 10**9, "MS": 10**6, "US": 10**3, "NS": 1}
NANOSECONDS = {  # of one step, by the type's name here; TIMESTAMPTZ is a time with a zone
    "DATE[DAY]": _DAY,
    "DATE[MS]": 10**6,
    **{f"{kind}[{unit}]": size for kind in ("TIMESTAMP", "TIMESTAMPTZ") for unit, size in _UNITS.items()},
}
INSTANTS = frozenset(NANOSECONDS)
# Only times in these have a text: years 1 to 9999, and what 64 bits of nanoseconds hold with room to spare.
_TEXT_DAYS = (-719_162, 2_932_896)
_TEXT_NANOSECONDS = 9_200_000_000_000_000_000


def steps(raw: str, kind: str) -> str:
    """SQL of the number itself, wide enough to be scaled. The largest of either sign stand for an infinite time."""
    most = 2**31 - 1 if kind == "DATE[DAY]" else 2**63 - 1
    return f"CASE WHEN {raw} NOT IN ({most}, -{most}) THEN CAST({raw} AS HUGEINT) END"


def days(steps: str, kind: str) -> str:
    """SQL of the day in UTC, from steps."""
    return _floor(steps, _DAY // NANOSECONDS[kind])


def microseconds(steps: str, kind: str) -> str:
    """SQL of microseconds in UTC, from steps; halves of them are rounded up."""
    size = NANOSECONDS[kind]
    return _floor(f"({steps} + 500)", 1000) if size < 1000 else f"{steps} * {size // 1000}"


def text(raw: str, kind: str) -> str:
    """SQL of a date or time as it is written, NULL beyond the years 1 to 9999."""
    low, high = (bound * (_DAY // NANOSECONDS[kind]) for bound in _TEXT_DAYS)
    if kind.endswith("[NS]"):
        low, high = -_TEXT_NANOSECONDS, _TEXT_NANOSECONDS
    held = f"LEAST(GREATEST({raw}, {low}), {high})"
    if kind.startswith("DATE"):
        written = f"make_date(CAST({days(f'CAST({held} AS HUGEINT)', kind)} AS INTEGER))"
    elif kind.endswith("[NS]"):
        written = f"make_timestamp_ns(CAST({held} AS BIGINT))"
    else:
        written = f"make_timestamp(CAST({held} AS BIGINT) * {NANOSECONDS[kind] // 1000})"
    zone = " || '+00'" if kind.startswith("TIMESTAMPTZ") else ""
    return f"CASE WHEN {raw} BETWEEN {low} AND {high} THEN CAST({written} AS VARCHAR){zone} END"


def _floor(number: str, by: int) -> str:
    return number if by == 1 else f"({number} - (({number} % {by}) + {by}) % {by}) // {by}"
