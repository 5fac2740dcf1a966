"""The key columns of an answer: every combination of public keys, whether or not any row has it, or those selected.

Combinations are in row-major order (the first key is the slowest), codes ascending, NULL last. There is no loop over
groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dither.answer.columns import Key
from dither.errors import PolicyError
from dither.policy.columns import Bool, Category, Coded, Column, Shown
from dither.policy.columns.key_domains import Computed

if TYPE_CHECKING:
    import pyarrow as pa


def dense_keys(keys: Sequence[tuple[str, Coded]]) -> tuple[Key, ...]:
    """Key columns for (shown name, declaration) pairs, one row for each combination.

    >>> from dither.policy.columns import Bool, Category
    >>> [key.values.to_pylist() for key in dense_keys([("a", Bool()), ("b", Category(["x"]))])]
    [[False, False, True, True, None, None], ['x', None, 'x', None, 'x', None]]
    """
    counts = [_count(name, column) for name, column in keys]
    total = math.prod(counts)
    dense, faster = [], total
    for (name, column), count in zip(keys, counts, strict=True):
        faster //= count
        positions = np.tile(np.repeat(np.arange(count, dtype=np.int32), faster), total // (count * faster))
        dense.append(Key(name, _array(column, positions)))
    return tuple(dense)


def sparse_keys(keys: Sequence[tuple[str, Column]], codes: Sequence[Any]) -> tuple[Key, ...]:
    """Key columns for (shown name, declaration) pairs and the code or text of each row, None where it is NULL.

    >>> from dither.policy.columns import Category, Text
    >>> keys = sparse_keys([("a", Category(["x", "y"])), ("b", Text())], [[1, None, 0], ["p", "q", None]])
    >>> [key.values.to_pylist() for key in keys]
    [['y', None, 'x'], ['p', 'q', None]]
    """
    return tuple(Key(name, _given(name, column, given)) for (name, column), given in zip(keys, codes, strict=True))


def _given(name: str, column: Column, given: Any) -> pa.Array:
    import pyarrow as pa

    if not isinstance(column, Coded):
        return pa.array(given, pa.string())
    array = pa.array(given, pa.int64())
    null: NDArray[Any] | None = array.is_null().to_numpy(zero_copy_only=False)
    whole: NDArray[Any] = array.fill_null(column.low).to_numpy(zero_copy_only=False)
    if not ((whole >= column.low) & (whole <= column.high)).all():
        raise PolicyError(f"{name!r} has a key outside its declared values.")
    return _shown(column, whole, null if array.null_count else None)


def _count(name: str, column: Coded) -> int:
    count = column.key_count
    if count is None:
        raise PolicyError(f"{name!r} is a {column.kind} column, which has no public list of values to group by.")
    return count


def _array(column: Coded, positions: NDArray[Any]) -> pa.Array:
    """Positions 0..count-1 in the dense order as shown values."""
    null = None
    if column.nullable:
        null = positions == column.high - column.low + 1
        positions[null] = 0  # the bytes under a NULL are written too; now they are the same each time
    return _shown(column, positions if isinstance(column, Category) else positions.astype(np.int64) + column.low, null)


def _shown(column: Coded, codes: NDArray[Any], null: NDArray[Any] | None) -> pa.Array:
    """Codes, all in low..high, as the values they stand for."""
    import pyarrow as pa

    if isinstance(column, Category):
        indices = pa.array(_narrow(codes, column.high + 1), mask=null)
        return pa.DictionaryArray.from_arrays(indices, pa.array(column.values, pa.string()))
    if isinstance(column, Bool):
        return pa.array(codes, mask=null).cast(pa.bool_())
    if isinstance(column, Computed):
        return _typed(column.numbers(codes), null, column.shown, column.shown_decimals)
    return _typed(codes, null, column.shown, column.decimals)


def _typed(numbers: NDArray[Any], null: NDArray[Any] | None, shown: Shown, decimals: int) -> pa.Array:
    import pyarrow as pa

    if decimals:
        return _decimals(numbers, null, decimals)
    whole = pa.array(numbers.astype(np.int64), mask=null)
    if shown == "date":
        return whole.cast(pa.int32()).cast(pa.date32())
    if shown == "number":
        return whole
    return whole.cast(pa.timestamp("us", tz="UTC" if shown == "timestamp" else None))


def _decimals(numbers: NDArray[Any], null: NDArray[Any] | None, decimals: int) -> pa.Array:
    """Whole numbers of units as decimals, bit for bit: 128-bit integers in two words."""
    import pyarrow as pa

    words = np.empty((len(numbers), 2), "<i8")
    words[:, 0], words[:, 1] = numbers, np.where(numbers < 0, -1, 0)
    present = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little").tobytes())
    type_ = pa.decimal128(38, decimals)
    return pa.Array.from_buffers(type_, len(numbers), [present, pa.py_buffer(words.tobytes())])


def _narrow(positions: NDArray[Any], count: int) -> NDArray[Any]:
    """The smallest signed index type, so that ten million groups of a few labels stay small."""
    return positions.astype(np.int8 if count <= 2**7 else np.int16 if count <= 2**15 else np.int32)
