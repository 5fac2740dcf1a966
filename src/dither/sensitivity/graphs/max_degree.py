"""The largest degree of a graph."""

from __future__ import annotations

from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, only


def max_degree(relation: Relation | str = Relation.EDGE) -> Sensitivity:
    """1: an edge moves two degrees by 1, and the largest by at most that.

    >>> max_degree().l1
    Fraction(1, 1)
    """
    return Sensitivity.scalar(1, only(relation, Relation.EDGE, "Degrees belong to a graph."))
