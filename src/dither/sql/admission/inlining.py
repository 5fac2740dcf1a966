"""How long the expressions of a plan get when an engine writes derived columns out.

Optimisers move conditions below derived tables, and merge derived tables that stand above a join: a column is replaced
by what it is computed from, as often as it is used. If each of n derived tables uses the column of the one before it
three times, that makes 3^n words, whatever the data, so it is bounded before anything is charged. Nothing moves below
totals other than conditions on their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from dither.sql import expressions as e
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Aggregate,
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Measure,
    Node,
    OwnerAggregate,
    OwnerWindow,
    Project,
    PublicAggregate,
    SemiJoin,
    Total,
    UnionAll,
)

JOINS = (JoinPublic, JoinOwner, JoinFull, SemiJoin)
MOST_WORDS = 300_000  # written out and read in a second or two


def words(aggregate: Aggregate) -> int:
    """Of all that may be written out in a plan together, every derived column in place of its name."""
    return sum(_size(value, _around(node)) for node in aggregate.walk() for value in _written_out(node))


@remembered
def columns(node: Node) -> Mapping[str, int]:
    """The words that each computed column of a relation takes; stored ones take none beside their name."""
    below = [columns(child) for child in node.children()]
    if isinstance(node, Project):
        return _computed(node.columns, below[0])
    if isinstance(node, (OwnerAggregate, PublicAggregate)):
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


def _written_out(node: Node) -> Iterable[e.Expression]:
    yield from _conditions(node)
    if any(isinstance(below, JOINS) for child in node.children() for below in child.walk()):
        yield from _values(node)


def _conditions(node: Node) -> Iterable[e.Expression]:
    if isinstance(node, Filter):
        yield node.predicate
    if isinstance(node, (JoinPublic, JoinOwner, JoinFull)):
        yield from (side for pair in node.equal for side in pair)
    if isinstance(node, JOINS) and node.condition is not None:
        yield node.condition
    if isinstance(node, Aggregate) and node.chosen_from is not None:
        yield node.chosen_from  # NULL is left out by a condition


def _values(node: Node) -> Iterable[e.Expression]:
    """What a node computes beside its conditions."""
    if isinstance(node, Project):
        yield from (value for _, value in node.columns)
    if isinstance(node, (OwnerAggregate, PublicAggregate)):
        yield from (value for _, value in node.keys)
        yield from (part for _, total in node.totals for part in _parts(total))
    if isinstance(node, OwnerWindow):
        yield from (window.value for _, window in node.windows if window.value is not None)
        yield from (by for _, window in node.windows for by, _, _ in window.order)
    if isinstance(node, Aggregate):
        yield from (key.code for key in node.keys)
        yield from (part for measure in node.measures for part in _parts(measure))


def _parts(total: Total | Measure) -> Iterable[e.Expression]:
    values = (getattr(total, field.name) for field in fields(total))
    return (value for value in values if isinstance(value, e.Expression))


def _around(node: Node) -> dict[str, int]:
    return {name: size for child in node.children() for name, size in columns(child).items()}
