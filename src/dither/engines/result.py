"""From an engine's result to dense integer arrays over the public groups. Anything unexpected is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dither.engines.protocol import EngineError
from dither.mechanisms.keys.groups import seal_groups, seal_histogram
from dither.mechanisms.sealed_values import Exact, seal
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import Key

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMB = 2**64


def sealed(result: Any, statement: Statement) -> list[Exact]:
    """An engine's result as the statement says it is shaped, sealed: a dense array a measure, or one sealed table."""
    keys = statement.keys
    if statement.public and not statement.histogram:
        return [seal(values) for values in dense(result, keys, statement.measures)]
    if result.num_columns != len(keys) + statement.measures + statement.histogram:
        raise EngineError
    columns = [result.column(position).combine_chunks() for position in range(result.num_columns)]
    found = [_narrow(column) for column in columns[: len(keys)]]
    if not statement.histogram:
        return [seal_groups(found, [_integers(column) for column in columns[len(keys) :]])]
    codes, counts = _codes(columns[len(keys)]), _integers(columns[len(keys) + 1])
    places = _places(found, keys, result.num_rows) if statement.public else None
    return [seal_histogram(() if statement.public else found, places, codes, counts)]


def bounded(result: Any, keys: int) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """The keys that a first step found, and an upper bound of the first measure of each."""
    if result.num_columns != keys + 1:
        raise EngineError
    columns = [result.column(position).combine_chunks() for position in range(keys + 1)]
    return [_narrow(column) for column in columns[:keys]], _integers(columns[keys])


def candidates(keys: Sequence[Any], places: npt.NDArray[np.intp]) -> Any:
    """The keys at these places as the table that a second step reads."""
    import pyarrow as pa

    taken = {f"k{i}": key.take(pa.array(places)) for i, key in enumerate(keys)}
    return pa.table({**taken, "_place": np.arange(len(places), dtype=np.int64)})


def of_candidates(result: Any, count: int, measures: int) -> tuple[npt.NDArray[Any], ...]:
    """The measures of each candidate, in their order. Each must be there once: rows were found with its key before."""
    if result.num_columns != 1 + measures or result.num_rows != count:
        raise EngineError
    columns = [result.column(position).combine_chunks() for position in range(1 + measures)]
    place = _codes(columns[0])
    if not np.array_equal(np.sort(place), np.arange(count)):
        raise EngineError
    return tuple(_scatter(_integers(column), place, count) for column in columns[1:])


def _narrow(column: Any) -> Any:
    """A key's codes as words, whatever the engine stores or has computed them in; texts as they are."""
    import pyarrow as pa

    whole = pa.types.is_decimal(column.type) or pa.types.is_signed_integer(column.type)
    return column.cast(pa.int64()) if whole else column


def _codes(column: Any) -> npt.NDArray[Any]:
    """Whole numbers of any width; whoever reads them clamps them to what was declared."""
    import pyarrow as pa

    if column.null_count:
        raise EngineError
    return _words(column.cast(pa.int64())) if pa.types.is_signed_integer(column.type) else _integers(column)


def dense(result: Any, keys: Sequence[Key], measures: int) -> list[npt.NDArray[Any]]:
    """One array a measure: groups in row-major order of the keys, NULL last, 0 where the result has no group.

    `result` is an Arrow table of the keys' codes, then the measures. Floats, NULL measures and codes outside the
    declared ranges, all of which statements make impossible, raise EngineError. A group that comes more than once,
    because a clamp moved codes together, has the sum of its parts.
    """
    if result.num_columns != len(keys) + measures:
        raise EngineError
    columns = [result.column(position).combine_chunks() for position in range(result.num_columns)]
    count = 1
    for key in keys:
        count *= key.count
    place = _places([_narrow(column) for column in columns[: len(keys)]], keys, result.num_rows)
    if not keys and result.num_rows != 1:
        raise EngineError
    return [_scatter(_integers(column), place, count) for column in columns[len(keys) :]]


def _places(columns: Sequence[Any], keys: Sequence[Key], rows: int) -> npt.NDArray[np.int64]:
    place = np.zeros(rows, dtype=np.int64)
    for column, key in zip(columns, keys, strict=True):
        place = place * key.count + _positions(column, key)
    return place


def _positions(column: Any, key: Key) -> npt.NDArray[np.int64]:
    """Position of each code among the key's values."""
    import pyarrow as pa

    if not pa.types.is_signed_integer(column.type) or (column.null_count and not key.nullable):
        raise EngineError
    codes = _words(column.cast(pa.int64()).fill_null(key.low))
    if codes.size and not (key.low <= int(codes.min()) and int(codes.max()) <= key.high):
        raise EngineError
    position: npt.NDArray[np.int64] = codes - key.low
    if column.null_count:
        position[column.is_null().to_numpy(zero_copy_only=False)] = key.count - 1
    return position


def _integers(column: Any) -> npt.NDArray[Any]:
    """int64 as it lies in memory, or wider integers as Python ints."""
    import pyarrow as pa

    if column.null_count:
        raise EngineError
    if pa.types.is_int64(column.type):
        return _words(column)
    if column.type != pa.decimal128(38, 0):
        raise EngineError
    limbs = np.frombuffer(column.buffers()[1], dtype="<u8").reshape(-1, 2)[column.offset : column.offset + len(column)]
    wide = limbs[:, 1].astype("<i8").astype(object) * _LIMB + limbs[:, 0].astype(object)
    low, high = limbs[:, 0].astype("<i8"), limbs[:, 1].astype("<i8")
    narrow = bool(((low >> 63) == high).all())  # the upper limb is only the sign
    return low if narrow else wide


def _words(column: Any) -> npt.NDArray[np.int64]:
    """64-bit words as they lie in memory, none NULL; Arrow's own way would import pandas where it is installed."""
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    return np.frombuffer(column.buffers()[1], dtype="<i8")[column.offset : column.offset + len(column)]


def _scatter(values: npt.NDArray[Any], place: npt.NDArray[np.int64], count: int) -> npt.NDArray[Any]:
    scattered, seen = np.zeros(count, dtype=values.dtype), np.zeros(count, dtype=bool)
    seen[place] = True
    if int(seen.sum()) == len(place):
        scattered[place] = values
    else:
        np.add.at(scattered, place, values)
    return scattered
