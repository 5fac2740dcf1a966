"""What every statistic with a rank-gap reach can answer about a column, under replace with a public size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from dither.exact.parameters import Number, non_negative, whole
from dither.sensitivity.columns.reading import Column
from dither.sensitivity.columns.records import Records
from dither.sensitivity.order.gaps import Gaps
from dither.sensitivity.smoothing import smoothness


class GapStatistic(ABC):
    """Local sensitivity, reach, smooth bound and distance: all four describe the data and are secrets."""

    @abstractmethod
    def of(self, records: Records) -> Fraction:
        """The statistic of clamped records."""

    @abstractmethod
    def gaps(self, records: Records) -> Gaps:
        """The ranks that decide how far it moves."""

    def value(self, x: Column, lower: Number, upper: Number) -> Fraction:
        """The statistic itself, exact, of the clamped records."""
        return self.of(Records(x, lower, upper))

    def local(self, x: Column, lower: Number, upper: Number) -> Fraction:
        """The largest change that replacing one record of x can make. Noise of this size is not private."""
        return self.gaps(Records(x, lower, upper)).reach(0)

    def reach(self, x: Column, k: int, lower: Number, upper: Number) -> Fraction:
        """A^(k): the largest local sensitivity within k replacements of x."""
        steps = whole(k, "k", least=0)
        return self.gaps(Records(x, lower, upper)).reach(steps)

    def smooth(self, x: Column, beta: Number, lower: Number, upper: Number) -> Fraction:
        """A beta-smooth upper bound of local sensitivity, exactly smooth as returned: max over k of A^(k) e^(-beta k).

        Selects only ranks near the statistic; the smallest such bound, rounded up by less than 2^-70 of itself.
        """
        rate = smoothness(beta)
        return self.gaps(Records(x, lower, upper)).smooth(rate)

    def with_smooth(self, x: Column, beta: Number, lower: Number, upper: Number) -> tuple[Fraction, Fraction]:
        """The statistic and its smooth bound, from one reading of the column."""
        rate = smoothness(beta)
        records = Records(x, lower, upper)
        bound = self.gaps(records).smooth(rate)
        return self.of(records), bound

    def distance(
        self, x: Column, bound: Number, lower: Number, upper: Number, *, most: int | None = None
    ) -> int | float:
        """Replacements before the local sensitivity exceeds `bound` (0 if it does already, infinite if it cannot).

        Changes by at most 1 between neighbours: the distance that propose-test-release needs. A public cap `most` stops
        the search early; the smaller of two distances is as good a test.
        """
        proposed = non_negative(bound, "the proposed bound")
        cap = None if most is None else whole(most, "most", least=0)
        gaps = self.gaps(Records(x, lower, upper))
        return gaps.distance(proposed, gaps.records.size if cap is None else cap)
