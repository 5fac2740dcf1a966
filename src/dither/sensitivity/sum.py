"""The sum of a bounded column."""

from __future__ import annotations

from dither.exact.parameters import Number
from dither.neighbours import Relation
from dither.sensitivity.bounds import declared
from dither.sensitivity.norms import Sensitivity, row_relation


def sum_(
    lower: Number | None = None, upper: Number | None = None, relation: Relation | str = Relation.ADD_REMOVE
) -> Sensitivity:
    """Values in [lower, upper]: max(|lower|, |upper|) when a record comes or goes, upper - lower when one changes.

    >>> sum_(10000, 100000).l1, sum_(10000, 100000, "replace").l1
    (Fraction(100000, 1), Fraction(90000, 1))
    """
    low, high = declared(lower, upper)
    read = row_relation(relation)
    moved = max(abs(low), abs(high)) if read is Relation.ADD_REMOVE else high - low
    return Sensitivity.scalar(moved, read)
