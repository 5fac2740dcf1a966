"""Choose a code by how near its rank is to a target, exactly, from the ranks near the target.

The distribution: code c of the grid has probability proportional to b(c) exp(-rate d(c)), where b(c) is its public
weight, a power of two (`Bands`), and d(c) = max(0, below - t, t - upto) is the distance from the target t = q n to the
ranks [below, upto] that c has among the n records: `below` of them are smaller than c, `upto` are not larger. Codes
between two neighbouring records share a distance; those in one band form a gap.

Exact rejection: gaps (and records) near the target are proposed by whole numbers that bound their weights from above,
and kept by an exact coin; all codes farther away are proposed together, at random, by a bound that is about 2^-60 of
the whole, and kept by an exact coin too. Kept proposals have exactly the distribution above: nothing is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.balls import Ball, ball, bounds, float_down, float_up
from dither.mechanisms.codes import Codes, Grid
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.rank_window import Ranked
from dither.mechanisms.weights import flip, weights_of
from dither.noise.integers.bernoulli import is_below
from dither.noise.integers.uniform import each_below, one_below, uniform_below
from dither.noise.lazy_uniform import fresh_uniform

# Beyond this many nats a code is only proposed together with all others there: exp(-110) times 2^62 codes times their
# largest weight, 2^12, is about 2^-84.
DEPTH = 110


@dataclass(frozen=True)
class Target:
    """The rank t = q n among n records, and the rate at which probability falls with the distance from it."""

    rank: Fraction
    rate: Fraction

    def distance(self, below: int, upto: int) -> Fraction:
        """d of a code with these ranks."""
        return max(Fraction(0), below - self.rank, self.rank - upto)

    def weight(self, below: int, upto: int) -> Ball:
        """exp(-rate d), at the working precision of the moment."""
        return (-ball(self.rate * self.distance(below, upto))).exp()


@dataclass(frozen=True, eq=False)
class Near:
    """Runs of codes near the target that share their ranks and weight: records, and the gaps between them."""

    starts: Codes
    widths: Codes
    below: Codes
    upto: Codes
    doublings: Codes  # the public weight of each code of a run is 2^doublings
    left_open: bool  # there are codes before the first run that are farther away
    right_open: bool

    def holds(self, code: int) -> bool:
        """Whether a code is in one of the runs."""
        first, last = int(self.starts[0]), int(self.starts[-1] + self.widths[-1] - 1)
        return (not self.left_open or code >= first) and (not self.right_open or code <= last)


@dataclass(frozen=True, eq=False)
class RankChoice:
    """Ready to draw: the near runs with whole numbers that bound their weights times `scale`."""

    ranked: Ranked
    grid: Grid
    bands: Bands
    target: Target
    near: Near
    scale: Fraction
    units: Codes
    cumulative: Codes
    far_units: int

    @classmethod
    def of(
        cls, ranked: Ranked, grid: Grid, bands: Bands, q: Fraction, rate: Fraction, depth: int = DEPTH
    ) -> RankChoice:
        """Reads the ranks within depth / rate of the target. The bands are of this grid, or of one that contains it."""
        target = Target(q * ranked.size, rate)
        reach = math.ceil(depth / rate)
        near = near_runs(ranked, grid, bands, target.rank, reach)
        # The products below are rounded three times, by at most 2^-53 of themselves each; powers of two are exact.
        bound = np.ldexp(near.widths * _weight_bounds(near, target) * (1 + 2.0**-49), near.doublings)
        exponent = 60 - int(near.widths.size).bit_length() - math.frexp(float(bound.max()))[1]
        units = np.floor(np.ldexp(bound, exponent)).astype(np.int64) + 1
        scale = Fraction(2) ** exponent
        # exp(-x) <= 2^-(1.44 x), and 4096 halvings are more than enough.
        far = (grid.size << bands.steepest) * scale / (1 << min(4096, math.floor(rate * reach * Fraction(144, 100))))
        far_units = math.floor(far) + 1 if near.left_open or near.right_open else 0
        return cls(ranked, grid, bands, target, near, scale, units, np.cumsum(units), far_units)

    def draw(self) -> int:
        """One code."""
        return int(self.draws(1)[0])

    def draws(self, count: int) -> Codes:
        """`count` independent codes."""
        out = np.empty(count, np.int64)
        pending = np.arange(count)
        while pending.size:
            codes, kept = self._proposed(uniform_below(int(self.cumulative[-1]) + self.far_units, pending.size))
            out[pending[kept]] = codes[kept]
            pending = pending[~kept]
        return out

    def _proposed(self, places: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """The codes proposed by random places below the sum of all units, and whether their coins keep them."""
        codes, kept = np.zeros(places.size, np.int64), np.zeros(places.size, np.bool_)
        near = places < int(self.cumulative[-1])
        runs = np.searchsorted(self.cumulative, places[near].astype(np.int64), side="right")
        chosen = self._kept(runs)
        where = np.flatnonzero(near)[chosen]
        codes[where] = self.near.starts[runs[chosen]] + each_below(self.near.widths[runs[chosen]])
        kept[where] = True
        for i in np.flatnonzero(~near).tolist():
            far = self._far()
            if far is not None:
                codes[i], kept[i] = far, True
        return codes, kept

    def _kept(self, runs: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """A coin for each proposed run: its weight over the whole number that bounds it."""
        low, high = np.zeros(self.units.size), np.ones(self.units.size)
        for i in np.unique(runs).tolist():
            least, most = bounds(partial(self._share, i))
            low[i], high[i] = float_down(least), float_up(most)
        return flip(low[runs], high[runs], lambda place: self._share(int(runs[place])))

    def _share(self, i: int) -> Ball:
        """The weight of a run over its units: a probability, at the working precision of the moment."""
        share = (int(self.near.widths[i]) << int(self.near.doublings[i])) * self.scale / int(self.units[i])
        return ball(share) * self.target.weight(int(self.near.below[i]), int(self.near.upto[i]))

    def _far(self) -> int | None:
        code = self.grid.first + one_below(self.grid.size)
        if self.near.holds(code):
            return None
        below, upto = self.ranked.beside(code)
        weight = 1 << int(self.bands.at(np.array([code]))[0])
        share = self.grid.size * weight * self.scale / self.far_units
        return code if is_below(fresh_uniform(), lambda: ball(share) * self.target.weight(below, upto)) else None


def near_runs(ranked: Ranked, grid: Grid, bands: Bands, rank: Fraction, reach: int) -> Near:
    """The runs between the records `reach` ranks before and after the target, these two included.

    A code before the first run has at most floor(t) - reach - 1 records not above it, one after the last run has at
    least ceil(t) + reach + 1 below it: both are more than `reach` ranks from t. The ranks of the two records at the
    ends may be cut short on the far side, which their distance does not depend on.
    """
    size = ranked.size
    start = max(0, math.floor(rank) - reach - 1)
    stop = min(size, math.ceil(rank) + reach + 1)
    codes, counts = ranked.window(start, stop)
    upto = start + np.cumsum(counts)
    left_open, right_open = start > 0, stop < size
    # Records and gaps in turn: the gap before each record, the record, and the gap after the last one.
    edges = np.concatenate([[grid.first - 1], codes, [grid.last + 1]])
    runs = 2 * codes.size + 1
    starts, widths = np.empty(runs, np.int64), np.ones(runs, np.int64)
    below, above = np.empty(runs, np.int64), np.empty(runs, np.int64)
    starts[::2], starts[1::2] = edges[:-1] + 1, codes
    widths[::2] = np.diff(edges) - 1
    below[::2] = above[::2] = np.concatenate([[start], upto])
    below[1::2], above[1::2] = upto - counts, upto
    if left_open:
        widths[0] = 0
    if right_open:
        widths[-1] = 0
    kept = widths > 0
    starts, below, above = starts[kept], below[kept], above[kept]
    # The runs kept follow each other without holes; they are cut where a band begins.
    end = int(starts[-1] + widths[kept][-1])
    cuts = bands.starts[(bands.starts > starts[0]) & (bands.starts < end)]
    cut = np.union1d(starts, cuts)
    run = np.searchsorted(starts, cut, "right") - 1
    return Near(cut, np.diff(cut, append=end), below[run], above[run], bands.at(cut), left_open, right_open)


def _weight_bounds(near: Near, target: Target) -> npt.NDArray[np.float64]:
    """Floats not below exp(-rate d), and within a thousandth of it unless that is below exp(-64)."""
    whole = math.floor(target.rank)
    part = target.rank - whole
    # d in units of 2^-fine, rounded down: such a unit changes the weight by less than 2^-12 of itself.
    ratio = target.rate.numerator // target.rate.denominator
    fine = ratio.bit_length() + 12 if ratio or target.rate * (1 << 12) > 1 else 0
    down, up = (part.numerator << fine) // part.denominator, -((-part.numerator << fine) // part.denominator)
    before, after = near.below - whole, whole - near.upto
    if int(max(before.max(), after.max(), 1)).bit_length() + fine > 62:
        before, after = before.astype(object), after.astype(object)
    gaps = np.maximum(np.maximum(before * (1 << fine) - up, after * (1 << fine) + down), 0)
    return weights_of(gaps, target.rate / (1 << fine)).upper
