"""Histograms of many groups, and the runs of codes that a choice from each of them is made by.

The codes of a group are its records and the stretches between them; neighbouring records are followed by no stretch.
Everything is worked out for all groups at once, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.mechanisms.codes import Codes
from dither.mechanisms.quantiles.group_choice import Places, Runs

# What is beyond 2^60 records counts as 2^60, as in `RankedCounts`.
_MOST = 1 << 60
# Groups are taken together until they have so many lines: their arrays stay in cache, and little is held at a time.
_LINES_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Histograms:
    """The distinct codes of each group in order with how often each occurs, at least once; codes are in low..high."""

    cuts: Places  # line cuts[g] is the first of group g, and cuts[-1] is their number
    codes: Codes
    counts: Codes
    low: int
    high: int

    @classmethod
    def of(
        cls,
        places: npt.NDArray[Any],
        codes: npt.NDArray[Any],
        counts: npt.NDArray[Any],
        groups: int,
        low: int,
        high: int,
    ) -> Histograms:
        """Lines in any order: the place of a group, a code and its count. Nothing raises because of a line.

        Places of no group and counts below 1 are left out, codes outside low..high are clamped, and the counts of a
        code that comes more than once are added.
        """
        there = (places >= 0) & (places < groups) & (counts > 0)
        place = places[there].astype(np.int64)
        code = np.clip(codes[there], low, high).astype(np.int64)
        often = np.clip(counts[there], 0, _MOST).astype(np.int64)
        order = _order(place, code, groups, low, high)
        place, code, often = place[order], code[order], often[order]
        first = np.ones(place.size, np.bool_)
        first[1:] = (place[1:] != place[:-1]) | (code[1:] != code[:-1])
        if not first.all():
            exact = _exact_sums(often)
            often = np.minimum(np.add.reduceat(exact, np.flatnonzero(first)), _MOST).astype(np.int64)
            place, code = place[first], code[first]
        return cls(np.searchsorted(place, np.arange(groups + 1)), code, often, low, high)

    def parts(self) -> Iterator[tuple[slice, Histograms]]:
        """Some groups after the other, as few as have enough lines."""
        groups = self.cuts.size - 1
        work = self.cuts + np.arange(groups + 1)
        start = 0
        while start < groups:
            stop = max(start + 1, int(np.searchsorted(work, work[start] + _LINES_AT_ONCE, "right")) - 1)
            first, last = int(self.cuts[start]), int(self.cuts[stop])
            cuts = self.cuts[start : stop + 1] - first
            yield (
                slice(start, stop),
                Histograms(cuts, self.codes[first:last], self.counts[first:last], self.low, self.high),
            )
            start = stop

    @property
    def large(self) -> bool:
        """Whether there are so many lines that `parts` takes a group of them alone."""
        return self.codes.size > _LINES_AT_ONCE

    def by_count(self, rate: Fraction) -> Runs:
        """Scored by how often a code occurs: its gap is how much less often that is than the most frequent one."""
        lines, tails = self._at()
        most = np.zeros(tails.size, np.int64)
        filled = np.flatnonzero(np.diff(self.cuts))
        if filled.size:
            most[filled] = np.maximum.reduceat(self.counts, self.cuts[filled])
        gaps = np.repeat(most, 2 * np.diff(self.cuts) + 1)
        gaps[lines] -= self.counts
        return self._runs(gaps, rate)

    def by_rank(self, q: Fraction, rate: Fraction) -> Runs:
        """Scored by how far q n is from the ranks of a code, in units of 1 / q.denominator."""
        lines, tails = self._at()
        upto = np.concatenate([[0], np.cumsum(_exact_sums(self.counts))])
        sizes = np.diff(self.cuts)
        start = np.repeat(upto[self.cuts[:-1]], sizes)
        ends = np.minimum(upto[1:] - start, _MOST).astype(np.int64)
        total = np.minimum(upto[self.cuts[1:]] - upto[self.cuts[:-1]], _MOST).astype(np.int64)
        before = np.minimum(upto[:-1] - start, _MOST).astype(np.int64)
        below, above = np.empty((2, 2 * lines.size + tails.size), np.int64)
        below[lines - 1] = above[lines - 1] = below[lines] = before
        above[lines] = ends
        below[tails] = above[tails] = total
        fits = q.denominator * (int(total.max(initial=0)) + 1) < 1 << 62
        below, above, total = (part.astype(np.int64 if fits else object) for part in (below, above, total))
        target = np.repeat(q.numerator * total, 2 * sizes + 1)
        gaps = np.maximum(np.maximum(below * q.denominator - target, target - above * q.denominator), 0)
        return self._runs(gaps, rate / q.denominator)

    def _at(self) -> tuple[Places, Places]:
        """Where lines and the stretches after the last line of each group come among all runs.

        In each group: the stretch before a line, the line, and so on, and the stretch after the last one.
        """
        groups = np.arange(self.cuts.size - 1)
        lines = 2 * np.arange(self.codes.size) + np.repeat(groups, np.diff(self.cuts)) + 1
        return lines, 2 * self.cuts[1:] + groups

    def _runs(self, gaps: npt.NDArray[Any], rate: Fraction) -> Runs:
        """The runs that hold a code, each of which begins where the one before it ends."""
        lines, tails = self._at()
        ends = np.empty(gaps.size, np.int64)
        ends[lines - 1], ends[lines], ends[tails] = self.codes, self.codes + 1, self.high + 1
        cuts = np.concatenate([[0], tails + 1])
        starts = np.empty(gaps.size, np.int64)
        starts[1:] = ends[:-1]
        starts[cuts[:-1]] = self.low
        kept = ends > starts
        return Runs(np.concatenate([[0], np.cumsum(kept)])[cuts], starts[kept], ends[kept], gaps[kept], rate)


def _order(place: Codes, code: Codes, groups: int, low: int, high: int) -> Places:
    """Lines by group, then by code."""
    size = high - low + 1
    if groups * size < 1 << 62:  # one number for both, which is sorted in a third of the time
        return np.argsort(place * size + (code - low), kind="stable")
    return np.lexsort((code, place))


def _exact_sums(counts: Codes) -> npt.NDArray[Any]:
    """Counts of which all sums are exact: Python's whole numbers where 64 bits could overflow."""
    return counts if int(counts.max(initial=0)) * counts.size < 1 << 62 else counts.astype(object)
