"""How many records of a column are there, whatever they are."""

from __future__ import annotations

import cmath
from decimal import Decimal
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.sensitivity.records import _plain
from dither.stats.kinds import one_column

_NO_VALUE = ("NaTType", "NAType")  # of pandas, told by name: it need not be installed


def counted(x: Any) -> int:
    """The exact number of records that are neither missing (None, NaN, null) nor False: a secret."""
    one_column(x)
    read = _plain(_without_nulls(x))
    if isinstance(read, list):
        return sum(map(is_there, read))
    if read.ndim != 1:
        raise ParameterError(f"a column has one dimension; got an array of {read.ndim}.")
    kind = read.dtype.kind
    if kind == "O":
        return sum(map(is_there, read.tolist()))
    if kind == "b":
        return int(np.count_nonzero(read))
    if kind in "fc":
        return int(read.size - np.count_nonzero(np.isnan(read)))
    if kind in "mM":
        return int(read.size - np.count_nonzero(np.isnat(read)))
    return int(read.size)


def is_there(item: object) -> bool:
    """Whether one record counts. Nothing of a record's own is called: what it is cannot raise."""
    if item is None or isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, Decimal):
        return not item.is_nan()
    if isinstance(item, (float, complex)):
        return not cmath.isnan(item)
    if isinstance(item, np.inexact):
        return not bool(np.isnan(item))
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return not bool(np.isnat(item))
    kind = type(item)
    return not (kind.__name__ in _NO_VALUE and kind.__module__.startswith("pandas."))


def _without_nulls(x: Any) -> Any:
    for method in ("drop_null", "drop_nulls"):  # Arrow and polars, without a Python object for each record
        if hasattr(x, method):
            return getattr(x, method)()
    return x
