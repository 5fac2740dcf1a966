"""Several counting queries asked together, not necessarily disjoint."""

from __future__ import annotations

from dither.exact.parameters import whole
from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, row_relation


def counts(k: int, at_most: int | None = None, relation: Relation | str = Relation.ADD_REMOVE) -> Sensitivity:
    """k counts of which one record satisfies at most `at_most` (all, unless stated): L1 = k, L2 = sqrt(k) at worst.

    >>> counts(25).l2
    Fraction(5, 1)
    """
    queries = whole(k, "the number of counts")
    true_at_once = queries if at_most is None else min(queries, whole(at_most, "at_most"))
    read = row_relation(relation)
    moved = true_at_once if read is Relation.ADD_REMOVE else min(2 * true_at_once, queries)
    return Sensitivity(moved, moved, 1, read)
