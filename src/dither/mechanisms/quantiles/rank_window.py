"""Records in order, of which only a window of ranks is looked at: a column, or values with their counts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.mechanisms.codes import Codes, Grid, codes_of, column_codes, plain_column
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.values import whole_steps
from dither.sensitivity.columns.reading import Reading


class Ranked(Protocol):
    """Records as codes of a grid, in order; rank 1 is the smallest."""

    @property
    def size(self) -> int: ...

    def window(self, start: int, stop: int) -> tuple[Codes, Codes]:
        """Distinct codes among the ranks start < rank <= stop, and how many of these ranks each has."""
        ...

    def beside(self, code: int) -> tuple[int, int]:
        """How many records are below the code, and how many are not above it."""
        ...


@dataclass(frozen=True, eq=False)
class RankedCounts:
    """Distinct codes in order with how often each occurs (at least once)."""

    codes: Codes
    upto: Codes  # how many records are not above each code

    @property
    def size(self) -> int:
        return int(self.upto[-1]) if self.upto.size else 0

    def window(self, start: int, stop: int) -> tuple[Codes, Codes]:
        if not start < stop:
            # No ranks at all: the code found next would be a record of another part.
            return self.codes[:0], self.upto[:0]
        first, last = int(np.searchsorted(self.upto, start, "right")), int(np.searchsorted(self.upto, stop, "left"))
        codes, upto = self.codes[first : last + 1], np.minimum(self.upto[first : last + 1], stop)
        return codes, np.diff(upto, prepend=start)

    def beside(self, code: int) -> tuple[int, int]:
        left, right = int(np.searchsorted(self.codes, code, "left")), int(np.searchsorted(self.codes, code, "right"))
        return (int(self.upto[left - 1]) if left else 0), (int(self.upto[right - 1]) if right else 0)


@dataclass(frozen=True, eq=False)
class RankedPart:
    """`size` of the records: those after the first `before`."""

    whole: Ranked
    before: int
    size: int

    def window(self, start: int, stop: int) -> tuple[Codes, Codes]:
        return self.whole.window(start + self.before, stop + self.before)

    def beside(self, code: int) -> tuple[int, int]:
        below, upto = self.whole.beside(code)
        return min(max(below - self.before, 0), self.size), min(max(upto - self.before, 0), self.size)


class RankedColumn:
    """A column of plain numbers, put in order by selection around the ranks that are asked for.

    Rounding and clamping keep the order, so they come after selection, on the few records that matter.
    """

    def __init__(self, column: Reading, grid: Grid, *, keep_missing: bool) -> None:
        self._array, self._grid = column.present.copy(), grid
        # NaN sorts last in NumPy; a missing record that is kept has the first code, so it comes first.
        nans = int(np.count_nonzero(self._array != self._array)) if self._array.dtype.kind == "f" else 0
        self._present = self._array.size - nans
        self._first = column.absent + nans if keep_missing else 0
        self.size = self._present + self._first
        self._in_order = False

    def sort(self) -> None:
        """Put all records in order, for many looks at them."""
        if not self._in_order:
            self._array.sort()
            self._in_order = True

    def window(self, start: int, stop: int) -> tuple[Codes, Codes]:
        absent = max(0, min(stop, self._first) - start)
        low, high = max(0, start - self._first), max(0, stop - self._first)
        if self._in_order or 4 * (high - low) >= self._present:
            self.sort()
            chosen = self._array[low:high]
        else:
            if low < high:
                self._array.partition(sorted({low, high - 1}))
            chosen = np.sort(self._array[low:high])
        codes = np.concatenate([np.full(absent, self._grid.first, np.int64), codes_of(chosen, self._grid)[0]])
        edges = np.flatnonzero(np.diff(codes, prepend=codes[:1] - 1))
        return codes[edges], np.diff(edges, append=codes.size)

    def beside(self, code: int) -> tuple[int, int]:
        if self._in_order:
            present, absent = range(self._present), (self._first if code > self._grid.first else 0)
            below = bisect_left(present, code, key=self._code) + absent
            upto = bisect_right(present, code, key=self._code) + (self._first if code >= self._grid.first else 0)
            return below, upto
        codes, missing = codes_of(self._array, self._grid)
        codes = codes if missing is None else codes[~missing]
        below = int(np.count_nonzero(codes < code)) + (self._first if code > self._grid.first else 0)
        return below, int(np.count_nonzero(codes <= code)) + (self._first if code >= self._grid.first else 0)

    def _code(self, position: int) -> int:
        return int(codes_of(self._array[position : position + 1], self._grid)[0][0])


def ranked_column(column: Any, grid: Grid, *, keep_missing: bool) -> Ranked:
    """The records of a column; missing ones have the first code if they are kept, otherwise they are left out."""
    read = plain_column(column)
    if read.values.dtype.kind != "O":
        return RankedColumn(read, grid, keep_missing=keep_missing)
    codes, missing = column_codes(read, grid)
    kept = codes if keep_missing or missing is None else codes[~missing]
    return _tally(kept, np.ones(kept.size, np.int64), grid)


def sorted_column(column: Any, grid: Grid, *, keep_missing: bool) -> Ranked:
    """The same, put in order once and for all."""
    ranked = ranked_column(column, grid, keep_missing=keep_missing)
    if isinstance(ranked, RankedColumn):
        ranked.sort()
    return ranked


def ranked_counts(codes: Any, counts: Any, grid: Grid) -> RankedCounts:
    """Codes with how often each occurs, sealed or not; in any order. Negative counts are no records."""
    read = [_whole_vector(part) for part in (codes, counts)]
    if read[0].size != read[1].size:
        raise ParameterError("give one count for each code.")
    return _tally(read[0], read[1], grid)


def _whole_vector(values: Any) -> npt.NDArray[Any]:
    steps = _unseal(values) if isinstance(values, Exact) else whole_steps(values)
    if isinstance(steps, int) or steps.ndim != 1:
        raise ParameterError("codes and counts are sequences of whole numbers.")
    return steps


def _tally(codes: npt.NDArray[Any], counts: npt.NDArray[Any], grid: Grid) -> RankedCounts:
    kept, often = np.clip(codes, grid.first, grid.last).astype(np.int64), np.clip(counts, 0, 1 << 62)
    order = np.argsort(kept, kind="stable")
    kept, often = kept[order], often[order]
    # Python's whole numbers where 64 bits could overflow; what is beyond 2^60 records counts as 2^60.
    exact = often if not often.size or int(often.max()) * often.size < 1 << 60 else often.astype(object)
    upto = np.minimum(np.cumsum(exact), 1 << 60).astype(np.int64)
    last = np.flatnonzero(np.diff(kept, append=kept[-1:] + 1))
    kept, upto = kept[last], upto[last]
    there = np.diff(upto, prepend=0) > 0
    return RankedCounts(kept[there], upto[there])
