"""The smallest and the largest record."""

from __future__ import annotations

from dither.sensitivity.order.order_statistic import RankStatistic


class Min(RankStatistic):
    """The minimum.

    >>> Min().local([3, 7, 9], 0, 10)
    Fraction(4, 1)
    """

    def rank(self, n: int) -> int:
        return 1


class Max(RankStatistic):
    """The maximum.

    >>> Max().local([3, 7, 9], 0, 10)
    Fraction(2, 1)
    """

    def rank(self, n: int) -> int:
        return n


min_, max_ = Min(), Max()
