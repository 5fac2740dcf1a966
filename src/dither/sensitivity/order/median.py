"""The median: the middle record, the lower of the two middle ones when their number is even."""

from __future__ import annotations

from dither.sensitivity.order.order_statistic import RankStatistic


class Median(RankStatistic):
    """The lower median. (The mean of the two middle records would have another reach.)

    >>> Median()(0, 10).l1, Median().local([1, 2, 3, 4, 5, 6, 7, 8, 9], 0, 10)
    (Fraction(10, 1), Fraction(1, 1))
    >>> float(Median().smooth([1, 2, 3, 4, 5, 6, 7, 8, 9], "0.1", 0, 10))
    4.065696597405991
    """

    def rank(self, n: int) -> int:
        return (n + 1) // 2


median = Median()
