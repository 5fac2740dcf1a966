"""pandas frames as Arrow tables, each column by its dtype alone.

A column of Python objects is read by the text of each object, and is marked as having no type of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dither.engines.duckdb.sources.spelling import present, refuse_duplicates

UNTYPED = b"untyped"  # marks a field whose type says nothing about its values


def is_pandas(source: Any) -> bool:
    """Whether it is a pandas frame, without importing pandas."""
    return (
        type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "dtypes") and hasattr(source, "columns")
    )


def from_pandas(frame: Any, wanted: Sequence[str]) -> Any:
    """The wanted columns as an Arrow table."""
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    refuse_duplicates(names)
    fields, columns = [], []
    for name in present(names, wanted):
        series = frame.iloc[:, names.index(name)]
        column, typed = _column(series)
        fields.append(pa.field(name, column.type, metadata=None if typed else {UNTYPED: b""}))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


def _column(series: Any) -> tuple[Any, bool]:
    """Its values, and whether its dtype says what they are."""
    import pyarrow as pa

    categories = getattr(series.dtype, "categories", None)
    if categories is not None and hasattr(series, "cat"):
        values, typed = _column(categories.to_series())
        codes = series.cat.codes.to_numpy()
        known = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype("int64"), mask=codes < 0), known), typed
    # Text that Python holds may have halves of surrogate pairs, which Arrow would fail on.
    in_python = getattr(series.dtype, "storage", None) == "python"
    if in_python or not _known(series.iloc[:0]):
        texts = (None if gone else _bytes(value) for value, gone in zip(series, _missing(series), strict=True))
        return pa.array(texts, pa.large_binary()), in_python
    return pa.array(series, from_pandas=True), True


def _known(empty: Any) -> bool:
    """Whether Arrow has the dtype, found without any value."""
    import pyarrow as pa

    if str(empty.dtype) == "object":
        return False
    try:
        pa.array(empty, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def _missing(series: Any) -> Any:
    """Which values are none; if one of them cannot be asked, each alone, which gives the others the same."""
    try:
        return series.isna().to_numpy()
    except Exception:  # noqa: BLE001 - a signalling NaN of Decimal raises when it is compared
        return [_is_missing(value) for value in series]


def _is_missing(value: Any) -> bool:
    import pandas as pd

    try:
        return pd.isna(value) is True  # of a list it is a list
    except Exception:  # noqa: BLE001 - it is some object
        return False


def _bytes(value: Any) -> bytes | None:
    """An object's text, as a column of its type has it. What cannot even be written as text is no value."""
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, (bool, np.bool_)):
            return b"true" if value else b"false"
        if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < 2**53:
            value = int(value)
        return str(value).encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - __str__ of a foreign object
        return None
