"""The dense key columns of an answer: every combination of public keys, whether or not any row has it.

Order is row-major (the first key is the slowest), codes ascending, NULL last; built without a loop over groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dither.answer.columns import Key
from dither.columns import Bool, Category, Coded, Date
from dither.errors import PolicyError

if TYPE_CHECKING:
    import pyarrow as pa


def dense_keys(keys: Sequence[tuple[str, Coded]]) -> tuple[Key, ...]:
    """Key columns for (shown name, declaration) pairs, one row for each combination.

    >>> from dither.columns import Bool, Category
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


def _count(name: str, column: Coded) -> int:
    count = column.key_count
    if count is None:
        raise PolicyError(f"{name!r} is a {column.kind} column, which has no public list of values to group by.")
    return count


def _array(column: Coded, positions: NDArray[Any]) -> pa.Array:
    """Positions 0..count-1 in the dense order as shown values."""
    import pyarrow as pa

    values_count = column.high - column.low + 1
    null = None
    if column.nullable:
        null = positions == values_count
        positions[null] = 0  # the bytes under a NULL are written too; now they are the same each time
    if isinstance(column, Category):
        indices = pa.array(_narrow(positions, values_count), mask=null)
        return pa.DictionaryArray.from_arrays(indices, pa.array(column.values, pa.string()))
    codes = pa.array(positions.astype(np.int64) + column.low, mask=null)
    if isinstance(column, Date):
        return codes.cast(pa.int32()).cast(pa.date32())
    return codes.cast(pa.bool_()) if isinstance(column, Bool) else codes


def _narrow(positions: NDArray[Any], count: int) -> NDArray[Any]:
    """The smallest signed index type, so that ten million groups of a few labels stay small."""
    return positions.astype(np.int8 if count <= 2**7 else np.int16 if count <= 2**15 else np.int32)
