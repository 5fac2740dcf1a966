"""A column as an array of records. How a record is read follows from the column's type alone, never from a record.

Types of numbers become arrays of that very type, with nulls marked beside them. Of every other type, and in lists and
arrays of objects, each record is a Python value of its own: one that Python cannot hold (a date after year 9999, text
that is not UTF-8) is `UNREADABLE`, equal to nothing, and the others are as they would be without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError

Column = Any  # a NumPy array, a list or tuple, an Arrow, pandas or polars column
Array = npt.NDArray[Any]


class _Unreadable:
    """A record that has no Python value."""

    def __repr__(self) -> str:
        return "UNREADABLE"


UNREADABLE = _Unreadable()


@dataclass(frozen=True, eq=False)
class Reading:
    """The records of a column: an array whose type follows from the column's, and which records are null, if any."""

    values: Array
    null: npt.NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        """How many records there are, nulls too."""
        return int(self.values.size)

    @property
    def absent(self) -> int:
        """How many records are null."""
        return 0 if self.null is None else int(np.count_nonzero(self.null))

    @property
    def present(self) -> Array:
        """The values of the records that are not null."""
        return self.values if self.null is None or not self.absent else self.values[~self.null]

    def elements(self) -> list[Any]:
        """Each record as a Python value, None for a null."""
        listed = _moments(self.values) if self.values.dtype.kind in "mM" else self.values.tolist()
        if self.null is not None:
            for place in np.flatnonzero(self.null).tolist():
                listed[place] = None
        return list(listed)


def read_column(column: Column) -> Reading:
    """The records of a column; what is no column, or has more than one dimension, is refused."""
    read = _read(column)
    if read.values.ndim != 1:
        raise ParameterError(f"a column has one dimension; got an array of {read.values.ndim}.")
    return read


def listed(records: Iterable[Any]) -> list[Any]:
    """Each record of a column, or of anything else that can be walked through, as a Python value."""
    columnar = any(hasattr(records, method) for method in ("to_pylist", "to_list", "tolist"))
    return read_column(records).elements() if columnar else list(records)


def place_of(record: object, places: Mapping[Any, int]) -> int | None:
    """The place of one record among declared values; None if it is none of them, or cannot even be compared."""
    try:
        return places.get(record)
    except Exception:  # noqa: BLE001 - no error about data, whatever comparing it does
        return None


def _read(column: Column) -> Reading:
    if isinstance(column, Reading):
        return column
    if isinstance(column, np.ma.MaskedArray):
        return Reading(np.asarray(column.data), np.ma.getmaskarray(column))
    if isinstance(column, np.ndarray):
        return Reading(np.asarray(column))
    if isinstance(column, (list, tuple, range)):
        return _objects(column)
    if hasattr(column, "to_pylist"):
        return _arrow(column)
    if hasattr(column, "null_count") and hasattr(column, "to_arrow"):
        return _polars(column)
    if hasattr(column, "to_numpy") and hasattr(column, "isna"):
        return _pandas(column)
    raise ParameterError(
        f"a column is a NumPy array, a list, or an Arrow, pandas or polars column; got {type(column).__name__}."
    )


def _objects(items: Iterable[Any]) -> Reading:
    return Reading(np.fromiter(items, object))


def _arrow(column: Any) -> Reading:
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = chunks or [pa.array([], column.type)]
    parts = [_arrow_chunk(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    nulls = [np.zeros(part.size, bool) if part.null is None else part.null for part in parts]
    return Reading(np.concatenate([part.values for part in parts]), np.concatenate(nulls))


def _arrow_chunk(chunk: Any) -> Reading:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = chunk.type
    if isinstance(kind, pa.BaseExtensionType):
        return _arrow_chunk(chunk.storage)
    if types.is_dictionary(kind):
        return _arrow_chunk(chunk.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return _arrow_chunk(compute.run_end_decode(chunk))
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        return _each(chunk.to_pylist, len(chunk), lambda place: chunk[place].as_py())
    null = np.asarray(chunk.is_null().to_numpy(zero_copy_only=False))
    filled = chunk if types.is_floating(kind) else chunk.fill_null(False if types.is_boolean(kind) else 0)
    return Reading(np.asarray(filled.to_numpy(zero_copy_only=False)), null)


def _each(together: Callable[[], Iterable[Any]], size: int, alone: Callable[[int], Any]) -> Reading:
    """All records at once; if one of them cannot be read, each of them alone, which gives the others the same."""
    try:
        return _objects(together())
    except Exception:  # noqa: BLE001 - no error about data, whatever reading it does
        return _objects(_one(alone, place) for place in range(size))


def _one(alone: Callable[[int], Any], place: int) -> Any:
    try:
        return alone(place)
    except Exception:  # noqa: BLE001 - the record alone decides
        return UNREADABLE


def _polars(column: Any) -> Reading:
    import polars

    kind = column.dtype
    if kind == polars.Object or (kind.is_integer() and str(kind).endswith("128")):
        return _objects(column.to_list())
    if kind.is_integer() or kind.is_float() or kind == polars.Boolean:
        filled = column.fill_null(False if kind == polars.Boolean else 0)
        return Reading(np.asarray(filled.to_numpy()), np.asarray(column.is_null().to_numpy()))
    # By way of Arrow: polars' own lists panic at a date that Python does not have.
    return _arrow(column.to_arrow())


def _pandas(column: Any) -> Reading:
    kind = column.dtype
    if isinstance(kind, np.dtype):
        return _pandas_objects(column) if kind.kind in "mM" else Reading(np.asarray(column.to_numpy()))
    if hasattr(kind, "pyarrow_dtype"):
        import pyarrow as pa

        return _arrow(pa.array(column.array))
    held = getattr(kind, "numpy_dtype", None)
    if held is not None and held.kind in "biuf":  # nullable numbers
        null = np.asarray(column.isna().to_numpy(dtype=bool))
        return Reading(column.to_numpy(dtype=held, na_value=held.type(0)), null)
    return _pandas_objects(column)


def _pandas_objects(column: Any) -> Reading:
    held = column.array
    return _each(lambda: column.to_numpy(dtype=object), len(held), lambda place: held[place])


def _moments(array: Array) -> list[Any]:
    """Times of NumPy as those of Python where these have the same, else as they are; NaT is None."""
    unit, _ = np.datetime_data(array.dtype)
    if unit not in ("ns", "ps", "fs", "as"):
        return list(array.tolist())
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    exactly = (coarse.astype(array.dtype) == array) | np.isnat(array)
    choices = zip(coarse.tolist(), list(array), exactly.tolist(), strict=True)
    return [whole if same else part for whole, part, same in choices]
