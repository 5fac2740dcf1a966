"""Several quantiles by halving: which are left to find on either side of the one that was found."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

# Quantiles to find in a part: positions in the answer, and shares of the part's size.
Wanted = tuple[tuple[int, Fraction], ...]
# Runs on the same records, by number.
Rows = npt.NDArray[np.intp]

# Three numbers below this have a sum of 64 bits.
_SUMMABLE = 1 << 61


def sides(
    wanted: Wanted, chosen: npt.NDArray[np.intp], counts: npt.NDArray[Any]
) -> Iterator[tuple[bool, Wanted, Rows]]:
    """What is left to find on either side of the middle quantile: whether above it, what, and in which of many runs.

    Each run has its choice and its noisy counts of the records below, at and above it. Only these published numbers
    decide which q lie inside a side, and at which share of it: of the counts that of the side and the sum of all three.
    So runs that agree in both and in the choice go on together.
    """
    middle = len(wanted) // 2
    small = max(int(counts.max()), -int(counts.min())) < _SUMMABLE
    total = (counts if small else counts.astype(object)).sum(axis=1)
    for above, some, count in ((False, middle, counts[:, 0]), (True, len(wanted) - middle - 1, counts[:, 2])):
        for runs in alike(chosen, count, total) if some else []:
            found = (_above if above else _below)(wanted, int(count[runs[0]]), int(total[runs[0]]))
            if found:
                yield above, found, runs


def _below(wanted: Wanted, less: int, total: int) -> Wanted:
    """Those before the middle one whose rank is inside the first `less` of `total`, at their share of these."""
    targets = [(i, q * total) for i, q in wanted[: len(wanted) // 2]]
    return tuple((i, rank / less) for i, rank in targets if 0 < rank < less)


def _above(wanted: Wanted, more: int, total: int) -> Wanted:
    """Those after the middle one whose rank is inside the last `more` of `total`, at their share of these."""
    targets = [(i, q * total - (total - more)) for i, q in wanted[len(wanted) // 2 + 1 :]]
    return tuple((i, rank / more) for i, rank in targets if 0 < rank < more)


def alike(*columns: npt.NDArray[Any]) -> list[npt.NDArray[np.intp]]:
    """The places at which all columns have the same numbers, group by group."""
    keys = [_narrow(column) for column in columns]
    order = np.lexsort(keys)
    changes = np.zeros(order.size - 1, np.bool_)
    for key in keys:
        changes |= key[order[1:]] != key[order[:-1]]
    return np.split(order, np.flatnonzero(changes) + 1)


def _narrow(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same differences in 16 bits, if they fit: these are put in order much sooner."""
    low, high = int(column.min()), int(column.max())
    return (column - low).astype(np.uint16) if high - low < 1 << 16 else column
