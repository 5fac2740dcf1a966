"""Distance to instability: how many steps the winner of a vote is away from another winner, less one.

Each distance changes by at most 1 between neighbours with the same winner and is 0 when a neighbour has another one,
which is what releasing the winner exactly needs. Distances are secrets. Ties go to the first.
(Thakurta, Smith 2013; Dwork, Roth 2014, section 7.3.)

Several votes per person, each counted once, are covered: all counts move one way by at most 1 under add_remove, and a
gap by at most 2 under replace, so the same numbers are lower bounds of the distance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence, Sized

from dither.errors import ParameterError
from dither.exact.parameters import whole
from dither.neighbours import Relation
from dither.sensitivity.columns.reading import listed, place_of
from dither.sensitivity.norms import row_relation

Distance = int | float  # a float only when infinite


def argmax(counts: Sequence[int], relation: Relation | str = Relation.ADD_REMOVE) -> Distance:
    """Of the first largest count.

    >>> argmax([5, 9, 2]), argmax([5, 9, 2], "replace")
    (3, 1)
    """
    read, votes = row_relation(relation), _votes(counts)
    winner = max(range(len(votes)), key=votes.__getitem__)  # the first of equals
    steps = [votes[winner] - count + (winner < i) for i, count in enumerate(votes) if i != winner]
    if not steps:
        return math.inf
    # One changed vote moves a gap by 2.
    return (min(steps) if read is Relation.ADD_REMOVE else -(-min(steps) // 2)) - 1


def mode(
    x: Iterable[Hashable], categories: Sequence[Hashable], relation: Relation | str = Relation.ADD_REMOVE
) -> Distance:
    """Of the most frequent of the declared categories; records outside them do not vote.

    >>> mode("aabac", "abc")
    2
    """
    if not isinstance(x, Iterable):
        raise ParameterError(f"the records are a sequence; got {type(x).__name__}.")
    position = {category: i for i, category in enumerate(categories)}
    if len(position) != len(categories):
        raise ParameterError("the categories name one of them twice; list each once.")
    counts = [0] * len(position)
    for record in listed(x):
        place = place_of(record, position)
        if place is not None:
            counts[place] += 1
    return argmax(counts, relation)


def top_k(counts: Sequence[int], k: int, relation: Relation | str = Relation.ADD_REMOVE) -> Distance:
    """Of the set of the k largest counts: from the gap between the k-th and the next; infinite if all are chosen.

    >>> top_k([9, 8, 3, 1], 2), top_k([9, 8, 3, 1], 2, "replace")
    (4, 2)
    """
    read, votes, chosen = row_relation(relation), _votes(counts), whole(k, "k")
    if chosen >= len(votes):
        return math.inf
    ordered = sorted(votes, reverse=True)
    gap = ordered[chosen - 1] - ordered[chosen]
    return max(0, (gap if read is Relation.ADD_REMOVE else -(-gap // 2)) - 1)


def model_selection(votes: Sequence[int]) -> Distance:
    """Of the model that most parts of the data vote for: one record changes one part's vote, whatever the relation.

    >>> model_selection([12, 3, 4])
    4
    """
    return argmax(votes, Relation.REPLACE)


def _votes(counts: Sequence[int]) -> list[int]:
    if isinstance(counts, (str, bytes)) or not isinstance(counts, Sized) or not len(counts):
        raise ParameterError("give the counts of at least one candidate, as a list of whole numbers.")
    try:
        return [whole(count, "a count", least=0) for count in counts]
    except ParameterError:  # whose message would show a count
        raise ParameterError("counts must be whole numbers, 0 or more.") from None
