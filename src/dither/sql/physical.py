"""How a declared column is stored in a snapshot."""

from __future__ import annotations

from dither.columns import Coded, Column, Text
from dither.errors import PolicyError

WIDTHS = (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))


def physical_type(column: Column) -> str:
    """The smallest signed integer type that holds [low, high], or VARCHAR for text.

    >>> from dither.columns import Category, Int
    >>> physical_type(Int(0, 300)), physical_type(Category(["a", "b"]))
    ('SMALLINT', 'TINYINT')
    """
    if isinstance(column, Text):
        return "VARCHAR"
    if isinstance(column, Coded):
        for name, bits in WIDTHS:
            if -(2 ** (bits - 1)) <= column.low and column.high < 2 ** (bits - 1):
                return name
    raise PolicyError(f"{type(column).__name__} has no stored form.")
