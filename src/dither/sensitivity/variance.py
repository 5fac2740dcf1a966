"""The variance of a bounded column with a public number of records."""

from __future__ import annotations

from fractions import Fraction

from dither.exact.parameters import Number, whole
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.norms import Sensitivity, only


def variance(
    n: int,
    lower: Number | None = None,
    upper: Number | None = None,
    relation: Relation | str = Relation.REPLACE,
    *,
    unbiased: bool = False,
) -> Sensitivity:
    """R^2 (n-1) / n^2 for the variance with 1/n, R^2 / n for the unbiased one with 1/(n-1); R = upper - lower, n >= 2.

    >>> variance(10, 0, 1).l1, variance(10, 0, 1, unbiased=True).l1
    (Fraction(9, 100), Fraction(1, 10))
    """
    low, high = declared(lower, upper)
    size = whole(n, "the number of records", least=2)
    read = only(
        relation,
        Relation.REPLACE,
        "When the number of records is private, release noisy sums of x and x^2 and a noisy count.",
    )
    factor = Fraction(1, size) if unbiased else Fraction(size - 1, size**2)
    return Sensitivity.scalar((high - low) ** 2 * factor, read)
