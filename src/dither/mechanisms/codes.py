"""Columns of numbers as whole codes on a public grid: each record rounded and clamped by itself, exactly.

A record becomes floor(x / step + 1/2), kept within [first, last]. Nothing here raises because of a value:
infinities are clamped, and what is no number (NaN, None, text in a list) counts as missing. A float means exactly the
binary number that it is. The kind and the shape of a column are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, interval, positive
from dither.sensitivity.columns.reading import Reading, read_column
from dither.sensitivity.columns.records import _number

Codes = npt.NDArray[np.int64]

# Codes are 64-bit integers with room for differences and sums of two.
_SAFE = 1 << 61


@dataclass(frozen=True)
class Grid:
    """The multiples of a step within declared bounds: code c stands for the value c times step."""

    step: Fraction
    first: int
    last: int

    @classmethod
    def within(cls, lower: Number, upper: Number, step: Number, name: str = "the column") -> Grid:
        """All multiples of the step in [lower, upper]; refuses none, and more than fit into 64 bits."""
        low, high = interval(lower, upper, name)
        grid = positive(step, "grid")
        first, last = math.ceil(low / grid), math.floor(high / grid)
        if not first <= last:
            raise ParameterError(f"no multiple of the grid lies within the bounds of {name}; give a smaller grid=.")
        if not (first >= -_SAFE and last < _SAFE):
            raise ParameterError(f"the bounds of {name} are more than 2^61 grid steps from 0; give a larger grid=.")
        return cls(grid, first, last)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.last - self.first + 1

    def nearest(self, value: Number, name: str) -> int:
        """The code of a public number."""
        return min(max(math.floor(exact(value, name) / self.step + Fraction(1, 2)), self.first), self.last)


def plain_column(column: Any) -> Reading:
    """The records of a column of a kind that NumPy compares: int, uint (for bool too), float, or Python objects."""
    if isinstance(column, (list, tuple)):
        return Reading(_from_list(list(column)))
    read = read_column(column)
    kind = read.values.dtype
    if kind.kind == "O":
        return Reading(_from_list(read.elements()))
    if kind.kind not in "biuf" or kind.itemsize > 8:
        raise ParameterError(f"a column holds numbers of at most 64 bits; got the type {kind}.")
    return Reading(read.values.view(np.uint8), read.null) if kind.kind == "b" else read


def column_codes(column: Reading, grid: Grid) -> tuple[Codes, npt.NDArray[np.bool_] | None]:
    """The code of every record of a column; a null is missing."""
    codes, missing = codes_of(column.values, grid)
    if column.null is None:
        return codes, missing
    codes[column.null] = grid.first
    return codes, column.null if missing is None else missing | column.null


def codes_of(array: npt.NDArray[Any], grid: Grid) -> tuple[Codes, npt.NDArray[np.bool_] | None]:
    """The code of every record, and which records are missing (None: none can be); these have the first code."""
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        codes = _from_floats(np.where(missing, 0.0, array.astype(np.float64, copy=False)), grid)
        codes[missing] = grid.first
        return codes, missing
    if array.dtype.kind == "O":
        return _from_objects(array.tolist(), grid)
    return _from_integers(array, grid), None


def _from_list(items: list[Any]) -> npt.NDArray[Any]:
    """Plain floats and ints that fit go the quick way, which gives each the value that it has by itself."""
    kinds = set(map(type, items))
    if kinds == {float}:
        return np.array(items, np.float64)
    if kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63:
        return np.array(items, np.int64)
    return np.fromiter(items, object, len(items))


def _from_floats(values: npt.NDArray[np.float64], grid: Grid) -> Codes:
    """Rounded quotients in float64; those too near to a half for its error are settled exactly."""
    step = float(grid.step)
    if not 1e-290 < step < 1e290:  # outside what floats can be divided by
        return np.array([_nearest(value, grid) for value in values.tolist()], np.int64)
    ends = math.nextafter(grid.first - 2.0, -math.inf), math.nextafter(grid.last + 2.0, math.inf)
    with np.errstate(over="ignore", under="ignore"):
        quotient = np.clip(values / step, *ends)
    whole = np.floor(quotient)
    part = quotient - whole  # exact: no digit of the quotient is finer than its own
    codes = whole.astype(np.int64) + (part >= 0.5)
    if math.frexp(step)[0] != 0.5 or Fraction(step) != grid.step:
        # One rounding of the step and one of the quotient move it by less than 2^-51 of itself.
        unsure = np.flatnonzero(np.abs(part - 0.5) <= np.abs(quotient) * 2.0**-51)
        if unsure.size:
            distinct, back = np.unique(values[unsure], return_inverse=True)
            codes[unsure] = np.array([_nearest(value, grid) for value in distinct.tolist()], np.int64)[back]
    return np.asarray(np.clip(codes, grid.first, grid.last))


def _from_integers(values: npt.NDArray[Any], grid: Grid) -> Codes:
    """floor((2 x q + p) / (2 p)) for the step p/q, in 64 bits where they suffice."""
    low, high = math.floor(grid.first * grid.step) - 1, math.ceil(grid.last * grid.step) + 1
    info = np.iinfo(values.dtype)
    if not (low <= info.max and high >= info.min):  # all that the type can hold lies on one side of the bounds
        return np.full(values.size, grid.last if high < info.min else grid.first, np.int64)
    kept = np.clip(values, max(low, int(info.min)), min(high, int(info.max)))
    p, q = grid.step.numerator, grid.step.denominator
    most = max(abs(low), abs(high))
    if p == q == 1 and most < 1 << 63:
        codes = kept.astype(np.int64)
    elif 2 * most * q + p < 1 << 63:
        codes = (kept.astype(np.int64) * (2 * q) + p) // (2 * p)
    else:
        distinct, back = np.unique(kept, return_inverse=True)
        codes = np.array([_nearest(value, grid) for value in distinct.tolist()], np.int64)[back]
    return np.asarray(np.clip(codes, grid.first, grid.last))


def _from_objects(items: list[Any], grid: Grid) -> tuple[Codes, npt.NDArray[np.bool_]]:
    codes = np.full(len(items), grid.first, np.int64)
    missing = np.zeros(len(items), bool)
    for i, item in enumerate(items):
        number = _number(item)
        if number is None:
            missing[i] = True
        else:
            codes[i] = _nearest(number, grid)
    return codes, missing


def _nearest(value: Fraction | float | int, grid: Grid) -> int:
    if isinstance(value, float) and math.isinf(value):
        return grid.last if value > 0 else grid.first
    return min(max(math.floor(Fraction(value) / grid.step + Fraction(1, 2)), grid.first), grid.last)
