"""Counting the records that satisfy a predicate."""

from __future__ import annotations

from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, row_relation


def count(relation: Relation | str = Relation.ADD_REMOVE) -> Sensitivity:
    """1 in every norm: one record is counted or not, whether it comes, goes or changes.

    >>> count().l1
    Fraction(1, 1)
    """
    return Sensitivity(1, 1, 1, row_relation(relation))
