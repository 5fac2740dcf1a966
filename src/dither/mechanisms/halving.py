"""Several quantiles by halving: which are left to find on either side of the one that was found."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

# Quantiles to find in a part: positions in the answer, and shares of the part's size.
Wanted = tuple[tuple[int, Fraction], ...]
# Runs on the same records, by number.
Rows = npt.NDArray[np.intp]


def inside(wanted: Wanted, counts: Iterable[int]) -> tuple[Wanted, Wanted]:
    """What is left to find below and above the middle one of the quantiles, from noisy counts of its sides.

    Only published numbers decide: which q lie inside a side, and at which share of it.
    """
    less, equal, more = (int(count) for count in counts)
    middle = len(wanted) // 2
    left = [(i, q * (less + equal + more)) for i, q in wanted[:middle]]
    right = [(i, q * (less + equal + more) - less - equal) for i, q in wanted[middle + 1 :]]
    below, above = (
        tuple((i, rank / count) for i, rank in targets if 0 < rank < count)
        for targets, count in ((left, less), (right, more))
    )
    return below, above


def alike(*columns: npt.NDArray[Any]) -> list[npt.NDArray[np.intp]]:
    """The places at which all columns have the same numbers, group by group."""
    group = np.zeros(columns[0].size, np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        group = np.unique(group * values.size + place, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
