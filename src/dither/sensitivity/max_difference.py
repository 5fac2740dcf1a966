"""The largest difference between two records: maximum minus minimum."""

from __future__ import annotations

from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.parameters import Number, whole
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.columns.reading import Column
from dither.sensitivity.columns.records import Records
from dither.sensitivity.norms import Sensitivity, row_relation


class MaxDifference:
    """max - min.

    >>> MaxDifference().local([80000, 50000, 70000, 15000, 60000], 10000, 100000)
    Fraction(35000, 1)
    """

    def __call__(
        self,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str = Relation.REPLACE,
        *,
        n: int | None = None,
    ) -> Sensitivity:
        """The whole range. A single record under replace always has difference 0, which is no question: refused."""
        low, high = declared(lower, upper)
        read = row_relation(relation)
        if n is not None and whole(n, "the number of records") == 1 and read is Relation.REPLACE:
            raise ParameterError("the difference within a single record is always 0; ask it of two or more.")
        return Sensitivity.scalar(high - low, read)

    def value(self, x: Column, lower: Number, upper: Number) -> Fraction:
        """The statistic itself, exact, of the clamped records."""
        records = Records(x, lower, upper)
        return records.rank(records.size) - records.rank(1)

    def local(self, x: Column, lower: Number, upper: Number) -> Fraction:
        """Under replace, in O(n): only whether the replaced record is a smallest, a largest or another one matters.

        The others span [a, c]; a new record makes every difference from c - a up to max(upper - a, c - lower).
        """
        records = Records(x, lower, upper)
        n = records.size
        if n == 1:
            return Fraction(0)
        smallest, second = records.ranks(1, 2)
        before_last, largest = records.ranks(n - 1, n)
        now = largest - smallest
        left = [(second, largest), (smallest, before_last)] + ([(smallest, largest)] if n > 2 else [])
        return max(max(records.upper - a - now, c - records.lower - now, now - (c - a)) for a, c in left)


max_difference = MaxDifference()
