"""Intervals of released values, rounded outward to the column's own unit."""

from __future__ import annotations

import math

import numpy as np

from dither.answer.columns import Numbers, Value
from dither.exact.digits import float_above
from dither.exact.intervals import Interval

_WORD = 2**63


def ends(column: Value) -> Interval | None:
    """Both ends in the units of `column.values`; None if the column states no error."""
    if column.lower is not None and column.upper is not None:
        return Interval(column.lower, column.upper)
    if column.half_width is None:
        return None
    if column.is_float:
        width = float_above(column.half_width)
        return Interval(np.nextafter(column.values - width, -np.inf), np.nextafter(column.values + width, np.inf))
    width_units = math.ceil(column.half_width * 10**column.decimals)
    return Interval(_shift(column.values, -width_units), _shift(column.values, width_units))


def _shift(values: Numbers, by: int) -> Numbers:
    """values + by, in int64 where that cannot wrap and in Python ints otherwise."""
    if values.dtype == np.int64 and len(values):
        least, most = int(values.min()) + by, int(values.max()) + by
        if least >= -_WORD and most < _WORD and -_WORD <= by < _WORD:
            return values + np.int64(by)
    return np.asarray(values.astype(object) + by, dtype=object) if len(values) else values
