"""A column of vertices as whole numbers: what is none becomes a number that no graph has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.sensitivity.columns.reading import read_column

MOST_VERTICES = 2**31 - 1
NO_VERTEX = -1
_NUMERIC = ("int", "uint", "float", "double", "halffloat", "null", "object")


def vertex_numbers(column: Any) -> npt.NDArray[np.int64]:
    """Vertices as whole numbers; what is none becomes a number that no graph has."""
    if isinstance(column, list):
        return _one_by_one(column)
    kind = str(getattr(column, "type", None) or column.dtype).lower()
    if not kind.startswith(_NUMERIC):
        raise ParameterError(
            f"vertices are whole numbers 0..n-1; got a column of {kind}. If they have names, give vertices=[names]."
        )
    read = read_column(column)
    values = read.values
    if values.dtype.kind == "O":
        return _one_by_one(read.elements())
    if values.dtype.kind == "u":
        values = np.minimum(values, np.uint64(2**63 - 1))  # beyond every graph; it must not wrap around into one
    if values.dtype.kind == "f":  # pandas has made floats of a column with nulls
        vertex = (np.floor(values) == values) & (np.abs(values) <= MOST_VERTICES)
        values = np.where(vertex, values, NO_VERTEX).astype(np.int64)
    numbers = np.asarray(values, dtype=np.int64)
    return numbers if read.null is None else np.where(read.null, NO_VERTEX, numbers)


def _one_by_one(values: Sequence[Any]) -> npt.NDArray[np.int64]:
    return np.array([_vertex_number(value) for value in values], dtype=np.int64)


def _vertex_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer, float, np.floating)):
        return NO_VERTEX
    return int(value) if 0 <= value <= MOST_VERTICES and value == int(value) else NO_VERTEX
