"""The sum of distances from the middle of a declared range."""

from __future__ import annotations

from dither.exact.parameters import Number
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.norms import Sensitivity, row_relation


def centred_sum(
    lower: Number | None = None, upper: Number | None = None, relation: Relation | str = Relation.ADD_REMOVE
) -> Sensitivity:
    """Sum of x - (lower + upper) / 2: half the range when a record comes or goes, all of it when one changes.

    >>> centred_sum(10000, 100000).l1
    Fraction(45000, 1)
    """
    low, high = declared(lower, upper)
    read = row_relation(relation)
    return Sensitivity.scalar((high - low) / 2 if read is Relation.ADD_REMOVE else high - low, read)
