"""How many rows of an owner count in each group: few of them need less Gaussian noise.

With K rows of an owner, all in one group, counts by groups move by K in L2; with at most k of them in each group by
sqrt(K k). What that leaves out depends on how often rows of an owner share a group, which only a profile tells; popular
groups lose most. So it is done only where even the most popular group that the profile leaves possible loses less than
noise hides: otherwise that group would be shown too small, and its interval would not say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dither.sql.aggregates import Aggregator, Count, Sum
from dither.sql.aggregates.count_owners import CountDistinctOwner
from dither.sql.aggregates.distinct import CountDistinctValues
from dither.sql.planner.expected import Expected

SLOWER = 0.75  # totals of owners in each group take much longer: the error must be at least so much smaller
_TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # rows of an owner in one group
_COUNTED = (Count, Sum, CountDistinctOwner, CountDistinctValues)  # others divide a sum by a count: both must be whole


def few_in_group(expected: Expected, parts: Sequence[Aggregator]) -> Expected:
    """The same with a limit on the rows of an owner in each group, if that promises a smaller error."""
    aggregates = [output.aggregate for output in expected.question.outputs]
    if expected.kind != "zcdp" or not all(type(aggregate) in _COUNTED for aggregate in aggregates):
        return expected
    if expected.agree is None:
        return expected
    least, chosen = SLOWER**2 * expected.best(parts)[1], expected
    for few in _TRIED:
        limited = replace(expected, in_group=few)
        rows, error = limited.best(parts)
        if error < least and few < rows and limited.largest_is_whole(rows):
            least, chosen = error, limited
    return chosen
