"""The r-th smallest value of a bounded column: minimum, median, maximum, quantiles."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, probability, whole
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.columns.records import Records
from dither.sensitivity.norms import Sensitivity, row_relation
from dither.sensitivity.order.gap_statistic import GapStatistic
from dither.sensitivity.order.gaps import Gaps


class RankStatistic(GapStatistic):
    """An order statistic whose rank follows from the public number of records."""

    @abstractmethod
    def rank(self, n: int) -> int:
        """Which of n records in order it is, counted from 1."""

    def __call__(
        self,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str = Relation.REPLACE,
    ) -> Sensitivity:
        """The whole range, under either relation: half of the records at each bound, and one of them moves.

        An empty column (possible under add_remove) needs a fixed answer inside the range.
        """
        low, high = declared(lower, upper)
        return Sensitivity.scalar(high - low, row_relation(relation))

    def of(self, records: Records) -> Fraction:
        return records.rank(self.rank(records.size))

    def gaps(self, records: Records) -> Gaps:
        rank = self.rank(records.size)
        return Gaps(records, rank, rank, Fraction(1))


@dataclass(frozen=True)
class order_statistic(RankStatistic):
    """The r-th smallest value.

    >>> order_statistic(2).local([1, 4, 9], 0, 10)
    Fraction(5, 1)
    """

    r: int

    def __post_init__(self) -> None:
        whole(self.r, "the rank")

    def rank(self, n: int) -> int:
        if self.r > n:
            raise ParameterError(f"rank {self.r} of {n} records does not exist; give a rank from 1 to {n}.")
        return self.r


@dataclass(frozen=True, init=False)
class quantile(Frozen, RankStatistic):
    """The smallest value with at least a fraction q of the records at or below it: rank ceil(q n).

    >>> quantile("0.9").value(range(1, 11), 0, 10)
    Fraction(9, 1)
    """

    q: Fraction

    def __init__(self, q: Number) -> None:
        self._keep(q=probability(q, "the quantile"))

    def rank(self, n: int) -> int:
        return -(-self.q.numerator * n // self.q.denominator)
