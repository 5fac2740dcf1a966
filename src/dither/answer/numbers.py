"""Integers to Arrow and back, exactly: int64 where they fit, 128-bit decimals where not, text beyond those."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from dither.answer.columns import Numbers

if TYPE_CHECKING:
    import pyarrow as pa

_LOW_WORD = 2**64 - 1
_DIGITS = 38  # what an Arrow decimal128 holds


def to_arrow(numbers: Numbers, decimals: int, *, nulls: bool = False) -> pa.Array:
    """Exact Arrow form of integers in units of 10**-decimals; float64 passes as it is, with `nulls` NaN as NULL.

    >>> str(to_arrow(np.array([1999]), 2)[0])
    '19.99'
    """
    import pyarrow as pa

    if numbers.dtype == np.float64:
        if nulls and np.isnan(numbers).any():
            return pa.array(numbers, pa.float64(), from_pandas=True)
        return _as_they_lie(numbers, pa.float64())
    numbers = narrow(numbers)
    if decimals == 0 and numbers.dtype == np.int64:
        return _as_they_lie(numbers, pa.int64())
    if decimals <= _DIGITS and _fits_decimal(numbers):
        return _decimal(numbers, decimals)
    return pa.array([f"{Decimal(f'{number}e-{decimals}'):f}" for number in numbers.tolist()], pa.string())


def _as_they_lie(numbers: Numbers, kind: pa.DataType) -> pa.Array:
    """`pa.array` would import pandas where it is installed, which takes longer than a whole question."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def to_floats(numbers: Numbers, decimals: int, *, nulls: bool = False) -> pa.Array:
    """Like `to_arrow`, but what is not a whole number of 64 bits is the nearest float64."""
    import pyarrow as pa

    exact = to_arrow(numbers, decimals, nulls=nulls)
    return exact if pa.types.is_int64(exact.type) else exact.cast(pa.float64(), safe=False)


def narrow(numbers: Numbers) -> Numbers:
    """int64 if every number fits, the Python ints as they are otherwise."""
    if numbers.dtype != object:
        return numbers
    try:
        return np.array(numbers.tolist(), dtype=np.int64)
    except OverflowError:
        return numbers


def _fits_decimal(numbers: Numbers) -> bool:
    return numbers.dtype == np.int64 or all(abs(number) < 10**_DIGITS for number in numbers.tolist())


def _decimal(numbers: Numbers, decimals: int) -> pa.Array:
    """A decimal128 is a little-endian two's-complement 128-bit integer, so two 64-bit words are written directly."""
    import pyarrow as pa

    words = np.empty((len(numbers), 2), dtype="<u8")
    if numbers.dtype == np.int64:
        words[:, 0], words[:, 1] = numbers.view(np.uint64), (numbers >> 63).view(np.uint64)
    else:
        words[:, 0] = [number & _LOW_WORD for number in numbers.tolist()]
        words[:, 1] = [(number >> 64) & _LOW_WORD for number in numbers.tolist()]
    return pa.Array.from_buffers(pa.decimal128(_DIGITS, decimals), len(numbers), [None, pa.py_buffer(words)])
