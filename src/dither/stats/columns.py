"""Columns for statistics: clamped and rounded record by record, summed in whole numbers.

A missing record (NaN, None, what is no number) is left out under add_remove: its coming and going then changes nothing.
Under replace the number of records is public, so none may vanish: it counts as the lower bound; among
booleans as False.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, power_of_two_below
from dither.mechanisms.codes import Codes, Grid, column_codes
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.columns.reading import Reading
from dither.sensitivity.columns.records import _number
from dither.stats.kinds import number_column

# A sum of so many 64-bit integers, high and low 32 bits apart, stays below 2^53 on each side: 2^20 * 2^32 at most.
_LOW_BITS = 32
_CHUNK = 1 << 20
_UNDECLARED = (
    "the sensitivity is infinite without a declared range; give lower and upper, from what the values mean and not "
    "from the data, or buy what is not known with part of the price: lower=None, upper=None, and as bounds_share= how "
    "much of it, a fifth if nothing is said."
)
_INTEGERS = re.compile(r"u?int(8|16|32|64)(\[pyarrow\])?", re.IGNORECASE)


def read_grid(column: Any, lower: Number | None, upper: Number | None, grid: Number | None, bits: int) -> Grid:
    """The declared grid; by default steps of 1 for a column of a type of integers, else about 2^-bits of the range."""
    if lower is None and upper is None:
        raise ParameterError(_UNDECLARED)
    low, high = declared(lower, upper)
    if grid is not None:
        return Grid.within(low, high, positive(grid, "grid"))
    if holds_integers(column) and high - low >= 1:
        return Grid.within(low, high, 1)
    return Grid.within(low, high, power_of_two_below((high - low) / (1 << bits)))


def holds_integers(column: Any) -> bool:
    """Whether the type says so, and would whoever is missing.

    What a list happens to hold declares nothing. Nor does a pandas column of a NumPy type: one missing record
    turns its integers into floats, and the grid of an answer must not tell.
    """
    kind = getattr(column, "dtype", None) or getattr(column, "type", None)
    if isinstance(kind, np.dtype) and not isinstance(column, np.ndarray):
        return False
    return _INTEGERS.fullmatch(str(kind)) is not None


def present_codes(column: Reading, grid: Grid, relation: Relation) -> Codes:
    """The codes of the records that count."""
    codes, missing = column_codes(column, grid)
    return codes[~missing] if missing is not None and relation is Relation.ADD_REMOVE else codes


def booleans(column: Any, name: str) -> npt.NDArray[np.bool_]:
    """A column of yes and no: bools, or numbers of which only 1 is yes. Anything else is no, as is what is missing."""
    read = number_column(column, name)
    if read.values.dtype.kind == "O":
        return np.array([_number(item) == 1 for item in read.elements()], bool)
    yes = read.values == 1
    return np.asarray(yes if read.null is None else yes & ~read.null)


def exact_sum(values: npt.NDArray[np.int64]) -> int:
    """The sum of 64-bit integers as a Python integer, however many: chunk by chunk, high and low digits apart."""
    return sum(_chunk_sum(values[start : start + _CHUNK]) for start in range(0, values.size, _CHUNK))


def _chunk_sum(values: npt.NDArray[np.int64]) -> int:
    low = values & ((1 << _LOW_BITS) - 1)
    return (int((values >> _LOW_BITS).sum(dtype=np.int64)) << _LOW_BITS) + int(low.sum(dtype=np.int64))


def exact_sum_of_squares(values: npt.NDArray[np.int64]) -> int:
    """The sum of the squares of integers from 0 to 2^62 - 1, exact: with v = 2^31 h + l no product exceeds 2^62."""
    half = 31
    total = 0
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        high, low = part >> half, part & ((1 << half) - 1)
        total += (_chunk_sum(high * high) << 2 * half) + (_chunk_sum(high * low) << half + 1) + _chunk_sum(low * low)
    return total


def public_size(column: Reading, least: int = 1) -> int:
    """The number of records, public under replace."""
    if column.size < least:
        raise ParameterError(f"the column has {column.size} records; a statistic of a public number needs {least}.")
    return column.size
