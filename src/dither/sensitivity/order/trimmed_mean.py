"""The mean of what is left when the m smallest and the m largest records are dropped."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.parameters import Number, whole
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.columns.records import Records
from dither.sensitivity.norms import Sensitivity, only
from dither.sensitivity.order.gap_statistic import GapStatistic
from dither.sensitivity.order.gaps import Gaps


@dataclass(frozen=True)
class trimmed_mean(GapStatistic):
    """m = 0 is the mean; dropping all but the middle record gives the median.

    >>> trimmed_mean(1).local([0, 4, 5, 10], 0, 10)
    Fraction(3, 1)
    """

    m: int

    def __post_init__(self) -> None:
        whole(self.m, "the number of records dropped at each end", least=0)

    def __call__(
        self,
        n: int,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str = Relation.REPLACE,
    ) -> Sensitivity:
        """(upper - lower) / (n - 2m) for n records, n public."""
        low, high = declared(lower, upper)
        kept = self._kept(whole(n, "the number of records"))
        read = only(relation, Relation.REPLACE, "The number of records must be public.")
        return Sensitivity.scalar((high - low) / kept, read)

    def of(self, records: Records) -> Fraction:
        return records.total(self.m + 1, records.size - self.m) / self._kept(records.size)

    def gaps(self, records: Records) -> Gaps:
        return Gaps(records, self.m + 1, records.size - self.m, Fraction(1, self._kept(records.size)))

    def _kept(self, n: int) -> int:
        if not n > 2 * self.m:
            raise ParameterError(f"dropping {self.m} records at each end of {n} leaves none; drop fewer.")
        return n - 2 * self.m
