"""The number of edges of a graph."""

from __future__ import annotations

from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, only


def edges(relation: Relation | str = Relation.EDGE) -> Sensitivity:
    """1: one edge comes or goes.

    >>> edges().l1
    Fraction(1, 1)
    """
    return Sensitivity.scalar(1, only(relation, Relation.EDGE, "Edges belong to a graph; see count for rows."))
