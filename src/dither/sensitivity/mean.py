"""The mean of a bounded column with a public number of records."""

from __future__ import annotations

from dither.exact.parameters import Number, whole
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.norms import Sensitivity, only


def mean(
    n: int,
    lower: Number | None = None,
    upper: Number | None = None,
    relation: Relation | str = Relation.REPLACE,
) -> Sensitivity:
    """(upper - lower) / n.

    >>> mean(100, 0, 50).l1
    Fraction(1, 2)
    """
    low, high = declared(lower, upper)
    size = whole(n, "the number of records")
    read = only(
        relation,
        Relation.REPLACE,
        "When the number of records is private, release a noisy centred sum and a noisy count, and divide.",
    )
    return Sensitivity.scalar((high - low) / size, read)
