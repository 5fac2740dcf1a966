"""Counts of disjoint cells."""

from __future__ import annotations

from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, row_relation


def histogram(relation: Relation | str = Relation.ADD_REMOVE) -> Sensitivity:
    """A record is in one cell: added or removed it moves one count by 1; replaced it may move two.

    >>> histogram("replace").l1
    Fraction(2, 1)
    """
    read = row_relation(relation)
    moved = 1 if read is Relation.ADD_REMOVE else 2
    return Sensitivity(moved, moved, 1, read)
