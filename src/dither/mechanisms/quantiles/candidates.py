"""Answers that a caller lists: public numbers in order, and how many records stand on either side of each.

A record is compared with the candidates by itself, in the type of its column: a float with the nearest float of that
type, so that 0.1 in a column is the candidate 0.1; a whole number, and an exact one in a list, with the candidate
itself. Nothing here raises because of a record, and none is clamped: beyond all candidates there is room.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import LARGEST, SMALLEST, exact
from dither.mechanisms.codes import Codes, plain_column
from dither.mechanisms.scores import Scores
from dither.sensitivity.columns.records import _number

# A float is the number of its shortest decimal form, as everywhere among parameters; it is kept as a float for speed.
Candidate = int | float | Fraction

MOST_CANDIDATES = 1 << 20
_EXACT_FLOATS = 2.0**53


def read_candidates(given: Any) -> tuple[Candidate, ...]:
    """Finite, distinct numbers in order, at least one; they come in any order."""
    try:
        read = plain_column(given)
        array = read.values if read.null is None else plain_column(read.elements()).values
    except ParameterError:
        raise ParameterError(
            f"candidates= is a list of numbers, fixed in advance; got {type(given).__name__}."
        ) from None
    if not 1 <= array.size <= MOST_CANDIDATES:
        raise ParameterError(f"list between 1 and {MOST_CANDIDATES} candidates; got {array.size}.")
    found: list[Candidate]
    if array.dtype.kind == "f":
        values = np.sort(array.astype(np.float64))
        size = np.abs(values)
        fine = (values == 0) | ((size >= float(SMALLEST)) & (size <= float(LARGEST)))
        if not fine.all():
            exact(values[~fine][0].item(), "a candidate")  # says what is wrong with it, unless it is the limit itself
        found = values.tolist()
    elif array.dtype.kind == "O" or _holds_bools(given):
        found = sorted(_one(item) for item in (array.tolist() if array.dtype.kind == "O" else [True]))
    else:
        found = np.sort(array).tolist()
    if not all(one < two for one, two in pairwise(found)):
        raise ParameterError("candidates must be distinct; one of them is listed twice.")
    return tuple(found)


def published(candidate: Candidate) -> int | Fraction:
    """The exact number that a candidate is."""
    return candidate if isinstance(candidate, int) else exact(candidate, "a candidate")


def _one(item: Any) -> Candidate:
    number = exact(item, "a candidate")
    return int(item) if isinstance(item, (int, np.integer)) else number


def _holds_bools(given: Any) -> bool:
    return str(getattr(given, "dtype", getattr(given, "type", ""))).lower().startswith("bool")


@dataclass(frozen=True, eq=False)
class Standing:
    """For each candidate in order, how many of `size` records are below it, and how many are not above it."""

    below: Codes
    upto: Codes
    size: int

    def scores(self, q: Fraction) -> Scores:
        """Minus the distance of q n from the ranks of each candidate."""
        scale = q.denominator
        exactly = np.int64 if scale * (self.size + 1) < 1 << 62 and q.numerator * (self.size + 1) < 1 << 62 else object
        target = q.numerator * self.size
        below, upto = self.below.astype(exactly) * scale, self.upto.astype(exactly) * scale
        distance = np.maximum(np.maximum(below - target, target - upto), 0)
        return Scores(None, np.asarray(distance - distance.min()), scale)

    def part(self, first: int, last: int, before: int, size: int) -> Standing:
        """The candidates first..last-1 among the `size` records that come after the first `before`."""
        below, upto = (np.clip(side[first:last] - before, 0, size) for side in (self.below, self.upto))
        return Standing(below, upto, size)

    @property
    def places(self) -> Codes:
        """How many records lie before, at and after each candidate, in turn: 2 N + 1 cells that hold every record."""
        edges = np.empty(2 * self.below.size + 2, np.int64)
        edges[0], edges[-1] = 0, self.size
        edges[1:-1:2], edges[2:-1:2] = self.below, self.upto
        return np.diff(edges)


def standing(column: Any, candidates: tuple[Candidate, ...], *, keep_missing: bool) -> Standing:
    """Of the records of a column; a missing one is the smallest candidate if it is kept, else it is left out."""
    read = plain_column(column)
    ordered, missing = read.present, read.absent
    if ordered.dtype.kind == "O":
        parts, missing = _objects(read.elements(), candidates)
    elif ordered.dtype.kind == "f":
        nans = int(np.count_nonzero(ordered != ordered))  # NaN sorts last
        parts, missing = [_floats(np.sort(ordered)[: ordered.size - nans], candidates)], missing + nans
    else:
        parts = [_integers(np.sort(ordered), candidates)]
    if missing and keep_missing:
        first = np.arange(len(candidates)) > 0
        parts.append(Standing(np.where(first, missing, 0), np.full(len(candidates), missing), missing))
    return Standing(
        np.sum([part.below for part in parts], 0, np.int64),
        np.sum([part.upto for part in parts], 0, np.int64),
        sum(part.size for part in parts),
    )


def _floats(ordered: npt.NDArray[Any], candidates: tuple[Candidate, ...]) -> Standing:
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.array([float(one) for one in candidates]).astype(ordered.dtype)
    return Standing(np.searchsorted(ordered, nearest, "left"), np.searchsorted(ordered, nearest, "right"), ordered.size)


def _integers(ordered: npt.NDArray[Any], candidates: tuple[Candidate, ...]) -> Standing:
    """x < c if x is below c rounded up, x <= c if it is not above c rounded down; both within what the type holds."""
    up, down = _whole_ends(candidates)
    info, size = np.iinfo(ordered.dtype), ordered.size
    held_up, held_down = (np.clip(ends, info.min, info.max).astype(ordered.dtype) for ends in (up, down))
    below, upto = np.searchsorted(ordered, held_up, "left"), np.searchsorted(ordered, held_down, "right")
    return Standing(np.where(up > info.max, size, below), np.where(down < info.min, 0, upto), size)


def _whole_ends(candidates: tuple[Candidate, ...]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Each candidate rounded up and down to whole numbers; Python's own where 64 bits might not do."""
    if all(isinstance(one, float) and abs(one) < _EXACT_FLOATS for one in candidates):
        values = np.array(candidates, np.float64)
        return np.ceil(values).astype(np.int64), np.floor(values).astype(np.int64)
    exactly = [published(one) for one in candidates]
    up, down = np.empty(len(exactly), object), np.empty(len(exactly), object)
    up[:], down[:] = [math.ceil(one) for one in exactly], [math.floor(one) for one in exactly]
    return up, down


def _objects(items: list[Any], candidates: tuple[Candidate, ...]) -> tuple[list[Standing], int]:
    """Records of any kind: floats, whole numbers of 64 bits and others each by themselves, and how many are missing."""
    floats, wholes, others, missing = [], [], [], 0
    for number in map(_number, items):
        if number is None:
            missing += 1
        elif isinstance(number, float):
            floats.append(number)
        elif isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
            wholes.append(number)
        else:
            others.append(number)
    others.sort()
    exactly = [published(one) for one in candidates] if others else []
    listed = [
        np.array([side(others, one) for one in exactly], np.int64) if others else np.zeros(len(candidates), np.int64)
        for side in (bisect_left, bisect_right)
    ]
    return [
        _floats(np.sort(np.array(floats, np.float64)), candidates),
        _integers(np.sort(np.array(wholes, np.int64)), candidates),
        Standing(listed[0], listed[1], len(others)),
    ], missing
