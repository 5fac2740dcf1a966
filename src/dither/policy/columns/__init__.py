"""Column declarations: what a value may be, said by the curator and never learned from data.

Inside, every value but text is an integer: `low` and `high` bound it in storage units (`Fixed` counts 10**-decimals,
`Date` days since 1970-01-01, `Timestamp` microseconds since then in UTC, `Category` the position in its list).

>>> Fixed(0, 100, decimals=2).high
10000
>>> Category(["north", "south"]).encode("south")
1
"""

from __future__ import annotations

from typing import Any

from dither.errors import PolicyError
from dither.policy.columns.column import Coded, Column, Shown
from dither.policy.columns.numbers import Bool, Fixed, Int
from dither.policy.columns.texts import Category, Text
from dither.policy.columns.times import Date, Timestamp

KINDS: dict[str, type[Column]] = {
    "int": Int,
    "fixed": Fixed,
    "bool": Bool,
    "date": Date,
    "timestamp": Timestamp,
    "category": Category,
    "text": Text,
}


def column_from(declaration: dict[str, Any]) -> Column:
    """Read a declaration written by `Column.declaration`."""
    given = dict(declaration)
    kind = given.pop("kind", None)
    if kind not in KINDS:
        raise PolicyError(f"unknown column kind {kind!r}; known are {', '.join(KINDS)}.")
    try:
        return KINDS[kind](**given)
    except TypeError as error:
        raise PolicyError(f"column of kind {kind!r}: {error}.") from None


__all__ = [
    "KINDS",
    "Bool",
    "Category",
    "Coded",
    "Column",
    "Date",
    "Fixed",
    "Int",
    "Shown",
    "Text",
    "Timestamp",
    "column_from",
]
