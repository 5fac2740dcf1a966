"""One exact choice for each of many groups at once, at a cost linear in their runs.

The answers of a group are cut into runs of neighbouring codes that share a gap. Code c of a run has probability
proportional to b(c) exp(-rate gap), b(c) being its public weight (`Bands`); the mass of a run is the sum of the b of
its codes. Exact rejection, in every group by itself: a run is proposed by whole numbers that bound mass exp(-rate gap)
from above, and kept by an exact coin; the code within a run that was kept is chosen by the public weights alone. What a
coin rejects is proposed anew. Kept proposals have exactly the distribution above, whatever the floats were
(docs/proofs/many_choices.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.balls import Ball, ball
from dither.mechanisms.codes import Codes
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.weights import Weights, flip, weights_of
from dither.noise.entropy import Fill, Learn, keystream, learn_bits
from dither.noise.integers.uniform import each_below

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Masses:
    """The sum of the public weights of all codes before a given one; Python's whole numbers where 64 bits are few."""

    bands: Bands
    last: int

    @cached_property
    def _before(self) -> npt.NDArray[Any]:
        """The masses before each band."""
        widths = np.diff(self.bands.starts, append=self.last + 1).astype(object)
        whole = np.cumsum(np.concatenate([[0], widths << self.bands.doublings.astype(object)]))[:-1]
        return whole.astype(np.int64) if self.bands.total < 1 << 62 else whole

    def before(self, codes: Codes) -> npt.NDArray[Any]:
        """The masses before some codes, each from the first one to the one after the last."""
        band = np.searchsorted(self.bands.starts, codes, "right") - 1
        inside = (codes - self.bands.starts[band]).astype(self._before.dtype)
        return np.asarray(self._before[band] + (inside << self.bands.doublings[band].astype(self._before.dtype)))

    def at(self, places: npt.NDArray[Any]) -> Codes:
        """The code that holds each place among all mass: as many places as its weight has the same code."""
        band = np.searchsorted(self._before, places, "right") - 1
        inside = (places - self._before[band]) >> self.bands.doublings[band].astype(self._before.dtype)
        return np.asarray(self.bands.starts[band] + inside.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of all groups, one group after the other; every group has at least one run of gap 0."""

    cuts: Places  # run cuts[g] is the first of group g, and cuts[-1] is their number
    starts: Codes  # the first code of each run
    ends: Codes  # the code after its last
    gaps: npt.NDArray[Any]  # whole numbers >= 0
    rate: Fraction


@dataclass(frozen=True, eq=False)
class GroupChoice:
    """Ready to draw: runs with whole numbers that bound their weights times 2^exponent of their group."""

    runs: Runs
    masses: Masses
    mass: npt.NDArray[Any]
    weights: Weights
    exponents: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]

    @classmethod
    def of(cls, runs: Runs, masses: Masses) -> GroupChoice:
        weights = weights_of(runs.gaps, runs.rate)
        first = masses.before(runs.starts)
        mass = masses.before(runs.ends) - first
        # The products are rounded three times, by at most 2^-53 of themselves each; powers of two are exact.
        bound = mass.astype(np.float64) * weights.upper * (1 + 2.0**-49)
        sizes = np.diff(runs.cuts)
        largest = np.frexp(np.maximum.reduceat(bound, runs.cuts[:-1]))[1]
        exponents = (60 - np.frexp(sizes.astype(np.float64))[1] - largest).astype(np.int64)
        units = np.floor(np.ldexp(bound, np.repeat(exponents, sizes))).astype(np.int64) + 1
        return cls(runs, masses, mass, weights, exponents, units)

    @cached_property
    def cumulative(self) -> npt.NDArray[np.uint64]:
        """Sums of units modulo 2^64: within a group, less the sum before it, they are the sums themselves."""
        return np.cumsum(self.units.astype(np.uint64), dtype=np.uint64)

    @cached_property
    def before(self) -> npt.NDArray[np.uint64]:
        """The sum before each group."""
        return np.concatenate([np.zeros(1, np.uint64), self.cumulative])[self.runs.cuts[:-1]]

    @cached_property
    def totals(self) -> npt.NDArray[np.int64]:
        """The sum of the units of each group, below 2^61."""
        return (self.cumulative[self.runs.cuts[1:] - 1] - self.before).astype(np.int64)

    def draw(self, fill: Fill | None = None, learn: Learn = learn_bits) -> Codes:
        """One code for each group, by random bits of its own: a function of the bits that `fill` and `learn` give."""
        groups = self.exponents.size
        fill = fill or keystream(32 * groups)
        chosen = np.zeros(groups, np.intp)
        pending = np.arange(groups)
        while pending.size:
            proposed = self.located(pending, each_below(self.totals[pending], fill))
            kept = self.kept(pending, proposed, fill, learn)
            chosen[pending[kept]] = proposed[kept]
            pending = pending[~kept]
        places = self.masses.before(self.runs.starts[chosen]) + each_below(self.mass[chosen], fill)
        return self.masses.at(places)

    def located(self, groups: Places, places: npt.NDArray[np.int64]) -> Places:
        """The run of each group that holds a place below the group's total: bisection in all groups at once."""
        low, high = self.runs.cuts[groups], self.runs.cuts[groups + 1] - 1
        sought = places.astype(np.uint64)
        while (low < high).any():
            middle = (low + high) // 2
            beyond = self.cumulative[middle] - self.before[groups] <= sought
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low

    def kept(self, groups: Places, proposed: Places, fill: Fill, learn: Learn = learn_bits) -> npt.NDArray[np.bool_]:
        """A coin for each proposed run: its weight over the whole number that bounds it."""
        low, high = self.shares(groups, proposed)
        return flip(low, high, lambda i: self.share(int(groups[i]), int(proposed[i])), fill, learn)

    def shares(self, groups: Places, proposed: Places) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Bounds of the probability that a proposed run is kept; five roundings of 2^-53 are less than 2^-50."""
        mass, units, exponents = self.mass[proposed].astype(np.float64), self.units[proposed], self.exponents[groups]
        low = np.ldexp(mass * self.weights.lower[proposed], exponents) / units * (1 - 2.0**-50)
        high = np.ldexp(mass * self.weights.upper[proposed], exponents) / units * (1 + 2.0**-50)
        return low, high

    def share(self, group: int, run: int) -> Ball:
        """The same probability, at the working precision of the moment."""
        share = int(self.mass[run]) * Fraction(2) ** int(self.exponents[group]) / int(self.units[run])
        return ball(share) * self.weights.exactly(run)
