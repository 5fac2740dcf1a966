"""How many records of a column are there, whatever they are."""

from __future__ import annotations

import cmath
from decimal import Decimal
from typing import Any

import numpy as np

from dither.sensitivity.columns.reading import read_column
from dither.stats.kinds import one_column

_NO_VALUE = ("NaTType", "NAType")  # of pandas, known by name: it need not be installed


def counted(x: Any) -> int:
    """The exact number of records that are neither missing (None, NaN, null) nor False: a secret."""
    one_column(x)
    present = read_column(x).present
    kind = present.dtype.kind
    if kind == "O":
        return sum(map(is_there, present.tolist()))
    if kind == "b":
        return int(np.count_nonzero(present))
    if kind in "fc":
        return int(present.size - np.count_nonzero(np.isnan(present)))
    if kind in "mM":
        return int(present.size - np.count_nonzero(np.isnat(present)))
    return int(present.size)


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
