"""How long the conditions of a plan get when an engine writes derived columns out.

Optimisers move conditions below derived tables: a column is replaced by what it is computed from, as often as it is
used. If each of n derived tables uses the column of the one before it three times, that makes 3^n words, whatever the
data, so it is bounded before anything is charged. Nothing moves below totals other than conditions on their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dither.sql import expressions as e
from dither.sql.plan import (
    Aggregate,
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    Project,
    SemiJoin,
    UnionAll,
)
from dither.sql.remembered import remembered

MOST_WORDS = 20_000  # read in a fraction of a second


def words(aggregate: Aggregate) -> int:
    """Of all conditions of a plan together, every derived column written out."""
    return sum(_size(condition, _around(node)) for node in aggregate.walk() for condition in _conditions(node))


@remembered
def columns(node: Node) -> Mapping[str, int]:
    """The words that each computed column of a relation takes; stored ones take none beside their name."""
    below = [columns(child) for child in node.children()]
    if isinstance(node, Project):
        return _computed(node.columns, below[0])
    if isinstance(node, OwnerAggregate):
        return _computed(node.keys, below[0])
    found: dict[str, int] = {}
    for part in below:
        for name, size in part.items():  # the parts of a union each get a condition of their own
            found[name] = found.get(name, 0) + size if isinstance(node, UnionAll) else size
    return found


def _computed(values: Iterable[tuple[str, e.Expression]], below: Mapping[str, int]) -> dict[str, int]:
    """A column under another name is no longer for it."""
    return {
        name: below.get(value.name, 0) if isinstance(value, (e.Stored, e.StoredText)) else _size(value, below)
        for name, value in values
    }


def _size(value: e.Expression, sizes: Mapping[str, int]) -> int:
    return value.size + sum(often * sizes.get(name, 0) for name, often in value.uses.items())


def _conditions(node: Node) -> Iterable[e.Expression]:
    if isinstance(node, Filter):
        yield node.predicate
    if isinstance(node, (JoinPublic, JoinOwner)):
        yield from (side for pair in node.equal for side in pair)
    if isinstance(node, (JoinPublic, JoinOwner, SemiJoin)) and node.condition is not None:
        yield node.condition


def _around(node: Node) -> dict[str, int]:
    return {name: size for child in node.children() for name, size in columns(child).items()}
