"""A ratio of two counts: refused, because its two counts answer the same question with far less noise."""

from __future__ import annotations

from dither.errors import ParameterError
from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, row_relation


def ratio(relation: Relation | str = Relation.ADD_REMOVE) -> Sensitivity:
    """Always refused: when the denominator is 1, one record moves the ratio from 0 to 1, its whole range."""
    row_relation(relation)
    raise ParameterError(
        "one record can move a ratio of counts across its whole range from 0 to 1, so noise would drown it; "
        "release the numerator and the denominator with dt.sensitivity.counts(2) and divide the noisy counts."
    )
