"""What kind of column a statistic was given: known by its type alone, which is public, never by a record."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.mechanisms.codes import plain_column
from dither.sensitivity.columns.reading import Reading
from dither.sensitivity.columns.tables import table_columns

# Types of NumPy, Arrow, pandas and polars that hold numbers; of Python objects each record is looked at by itself.
_NUMBERS = r"(u?int\d+|float\d*|double|half_?float|bool(ean)?|decimal\d*|null|object|sparse)\b"
_NUMERIC = re.compile(rf"(dictionary<values=)?{_NUMBERS}", re.IGNORECASE)


def number_column(column: Any, name: str = "the column") -> Reading:
    """The records of a column of numbers; text, dates and labels are refused by their type."""
    one_column(column, name)
    kind = column_type(column)
    if kind is not None and not _NUMERIC.match(kind):
        raise ParameterError(
            f"{name} must hold numbers; got the type {kind}. Convert it first, or count it with stats.histogram and "
            "declared categories."
        )
    return plain_column(column)


def holds_numbers(column: Any) -> bool:
    """Whether a column's type is one of numbers, not of Python objects."""
    kind = column_type(column)
    return kind is not None and kind.lower() not in ("object", "null") and _NUMERIC.match(kind) is not None


def one_column(column: Any, name: str = "the column") -> None:
    """Refuses a table of several columns, and of one."""
    if isinstance(column, np.ndarray):
        return  # its shape is checked where it is read
    columns = table_columns(column)
    if columns is not None:
        raise ParameterError(
            f'{name} is a whole table ({len(columns)} columns); give one column of it, such as table["age"].'
        )


def column_type(column: Any) -> str | None:
    """The name of a column's type; None where each record has its own, as in a list."""
    kind = getattr(column, "dtype", None)
    kind = getattr(column, "type", None) if kind is None else kind
    return None if kind is None else str(kind)
