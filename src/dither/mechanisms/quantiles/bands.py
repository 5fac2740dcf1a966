"""A public weight for every answer of a quantile: bands of magnitude, in which answers nearer to zero weigh more.

Bounds are often declared far wider than the data. If all answers weigh the same, the empty stretch between the largest
record and the upper bound is chosen by its sheer width as soon as few records lie beyond the quantile. So answers are
weighed by their magnitude: with each halving of the distance from zero the weight doubles once for a quantile around
the middle, and twice for one that leaves at most a quarter of the records on the far side, which is where such a
quantile can be lost; where three quarters or more of the records lie on the far side it stays the same. After six
halvings it stays the same in any case. The weights come from q, the bounds and the grid alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.mechanisms.codes import Codes, Grid

_HALVINGS = 6


@dataclass(frozen=True, eq=False)
class Bands:
    """Codes from one start to the next have the weight 2^doublings; the least weight of a code is 1."""

    starts: Codes  # rising; the first is the first code of the grid
    doublings: Codes
    total: int  # of the weights of all codes

    @classmethod
    def of(cls, grid: Grid, q: Fraction) -> Bands:
        """The bands of all codes of a grid, for the quantile q."""
        farthest = max(abs(grid.first), abs(grid.last))
        # No halving that would leave only zero itself.
        halvings = min(_HALVINGS, max(0, farthest.bit_length() - 1))
        edges = [farthest >> halving for halving in range(1, halvings + 1)]
        inside = {start for edge in edges for start in (edge + 1, -edge) if grid.first < start <= grid.last}
        starts = [grid.first, *sorted(inside)]
        # Zero is in the innermost band, where both sides weigh the same.
        lost = [
            (halvings - sum(abs(start) <= edge for edge in edges)) * _steepness(q if start > 0 else 1 - q)
            for start in starts
        ]
        doublings = [max(lost) - one for one in lost]
        widths = [end - start for start, end in zip(starts, [*starts[1:], grid.last + 1], strict=True)]
        total = sum(width << doubling for width, doubling in zip(widths, doublings, strict=True))
        return cls(np.array(starts, np.int64), np.array(doublings, np.int64), total)

    @classmethod
    def even(cls, grid: Grid) -> Bands:
        """One band: every code weighs 1."""
        return cls(np.array([grid.first], np.int64), np.zeros(1, np.int64), grid.size)

    @property
    def steepest(self) -> int:
        """The largest number of doublings."""
        return int(self.doublings.max())

    def at(self, codes: Codes) -> Codes:
        """How often the weight of 1 is doubled for each of some codes of the grid."""
        return np.asarray(self.doublings[np.searchsorted(self.starts, codes, "right") - 1])


def _steepness(q: Fraction) -> int:
    """Doublings for each halving of the magnitude, if the share 1 - q of the records lies farther from zero."""
    return 0 if q <= Fraction(1, 4) else 1 if q < Fraction(3, 4) else 2
