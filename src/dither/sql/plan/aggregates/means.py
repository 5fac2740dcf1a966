"""Means over rows some of which were left out: of the rows that are read, and of any that may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.sql.plan.nodes import Measure
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.measure_errors import MeasureError

Floats = NDArray[np.float64]

_ROUNDING = 16 * 2.0**-53  # more than the relative error of the few float operations below


def rows_and_clamps(measures: Sequence[Measure], errors: Sequence[MeasureError]) -> list[tuple[Measure, Bounds]]:
    """Of sums and, as the last measure, the count of their rows: what clamping changed, and the rows left out."""
    *sums, rows = zip(measures, errors, strict=True)
    return [*((measure, error.clamped) for measure, error in sums), (rows[0], rows[1].left_out)]


def mean_ends(
    total: NDArray[Any], count: NDArray[Any], of_total: MeasureError, of_count: MeasureError, each: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Ends of (limited total + clamped + what r rows add) / (limited count + r), for any r that may have been left out.

    Rows left out are the same above and below: r of them, each between the ends of `each`. With s the total and n the
    count that are read, (s + r e) / (n + r) is a quotient of linear functions in each of n and r, so it is extreme at
    an end of each; r without bound makes it e. Counts below 1 are read as 1: there the caller knows nothing.
    """
    total, count = np.asarray(total, dtype=np.float64), np.asarray(count, dtype=np.float64)
    near = float(of_count.noise)
    slack = _ROUNDING * (np.abs(count) + near)
    counts = np.maximum(count - near - slack, 1.0), np.maximum(count + near + slack, 1.0)
    lower = _end(total, counts, -1, of_total, of_count, each[0])
    upper = _end(total, counts, 1, of_total, of_count, each[1])
    return lower, upper


def _end(
    total: Floats, counts: tuple[Floats, Floats], side: int, of_total: MeasureError, of_count: MeasureError, each: int
) -> Floats:
    """The farthest mean on one side (-1 below, 1 above), rounded outward."""
    clamped, rows = of_total.clamped[0 if side < 0 else 1], of_count.left_out[1]
    if clamped is None:
        return np.full(len(total), side * np.inf)
    far = float(of_total.noise)
    extreme = np.minimum if side < 0 else np.maximum
    reached = total + side * far + float(clamped)
    size = np.abs(total) + far + abs(float(clamped))
    found = np.full(len(total), -side * np.inf) if rows is not None else np.full(len(total), float(each))
    for count in counts:
        for left in (0, rows or 0):
            added, slack = float(left * each), _ROUNDING * (size + abs(float(left * each)))
            found = extreme(found, (reached + added + side * slack) / (count + float(left)))
    return np.asarray(found + side * _ROUNDING * np.abs(found), dtype=np.float64)
