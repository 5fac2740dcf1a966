"""Which comes first, a stated limit on rows or the conditions: limits are on rows that conditions keep.

That takes a window over them. A relation each of whose rows is made of one row of a table is limited as it stands, with
all of its conditions below the limit. Where rows of one owner meet each other, are put together or are added up, each
condition goes down to the rows that it is about, as far as that means the same, and those are limited. What stays
above, conditions on rows that met and on totals, comes after the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from dither.exact.parameters import whole
from dither.sql.bounding.owner_limits import Limits, found_once
from dither.sql.expressions import And, Boolean, Expression, Stored, StoredText, simplifier
from dither.sql.guard.facts import facts, most_found
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    OwnerWindow,
    Project,
    Retruncate,
    Scan,
    SemiJoin,
    UnionAll,
)

Condition = Filter | SemiJoin | JoinPublic  # of which a row keeps what it finds; its child does not matter


@remembered
def limited_rows(node: Node, rows: int | None, *, where_first: bool = False) -> Node:
    """A relation with at most `rows` rows of each owner from any table, with `where_first` of those that are kept."""
    before = Limits(rows).limited(node)
    if not where_first or rows is None:
        return before
    after = _LimitsAfterWhere(whole(rows, "rows_per_owner")).limited(moved_down(node))
    return after if any(isinstance(inner, Retruncate) for inner in after.walk()) else before


def chooses_rows(node: Node, rows: int | None) -> bool:
    """Whether conditions choose among rows, so that such a limit comes before or after some of them."""
    return limited_rows(node, rows, where_first=True) != limited_rows(node, rows)


@dataclass(frozen=True)
class _LimitsAfterWhere(Limits):
    """Limits the rows that conditions keep, where each is made of one row of a table."""

    rows_per_owner: int

    def limited(self, node: Node) -> Node:
        if not any(map(_chooses, path_to_table(node))):
            return super().limited(node)
        declared = Limits(None).limited(node)
        most = facts(declared).rows
        return (
            declared if most is not None and most <= self.rows_per_owner else Retruncate(declared, self.rows_per_owner)
        )


def _chooses(node: Node) -> bool:
    return isinstance(node, (Filter, JoinPublic, SemiJoin)) or (isinstance(node, JoinOwner) and not node.outer)


def path_to_table(node: Node) -> list[Node]:
    """The nodes from a relation down to the table, one row of which each of its rows is made of; none if there is no
    such table. Rows of public tables may multiply them."""
    path = [node]
    while not isinstance(node, Scan):
        if isinstance(node, (Filter, Project, JoinPublic, SemiJoin, OwnerLimit)):
            node = node.child
        elif isinstance(node, JoinOwner) and (once := found_once(node)) is not None:
            node = node.other if once is node.child else node.child
        else:
            return []
        path.append(node)
    return path


def moved_down(node: Node, above: Sequence[Condition] = ()) -> Node:
    """The rows of a relation that keep to the conditions above it, each where the rows come from that it is about.

    Every condition is about one row of the relation at a time, so that their order makes no difference.
    """
    if path_to_table(node):
        return _under(above, node)
    if isinstance(node, Filter):
        return moved_down(node.child, (*_filters(node.child, node.predicate), *above))
    if isinstance(node, SemiJoin):
        other = moved_down(node.other) if facts(node.other).private else node.other
        return moved_down(node.child, (replace(node, other=other), *above))
    if isinstance(node, JoinPublic) and most_found(node) == 1:  # as many rows as before, of which as much is known
        return moved_down(node.child, (node, *above))
    if isinstance(node, JoinOwner):
        return _around_join(node, above)
    if isinstance(node, UnionAll):
        below, rest = _parted(above, facts(node).schema, joins=False)
        parts = tuple(moved_down(part, _renamed(below, facts(part).schema)) for part in node.parts)
        return _under(rest, replace(node, parts=parts))
    if isinstance(node, (Project, OwnerAggregate)):  # all rows of one group have its keys
        columns = node.columns if isinstance(node, Project) else node.keys
        bare = {name: value for name, value in columns if isinstance(value, (Stored, StoredText))}
        below, rest = _parted(above, bare, joins=False)
        if isinstance(node, OwnerAggregate):  # and keys that are left of groups make for less noise
            rest = [one for one in above if one in rest or isinstance(one, Filter)]
        return _under(rest, replace(node, child=moved_down(node.child, _renamed(below, bare))))
    if isinstance(node, JoinFull):  # which rows find none depends on all that count
        return _under(above, replace(node, child=moved_down(node.child), other=moved_down(node.other)))
    if isinstance(node, (JoinPublic, OwnerWindow)):  # places depend on all rows that count
        return _under(above, replace(node, child=moved_down(node.child)))
    return _under(above, node)


def _around_join(node: JoinOwner, above: Sequence[Condition]) -> Node:
    """A row that LEFT JOIN keeps does so whatever its right side has, of which conditions in ON choose rows."""
    mine, theirs = facts(node.child).schema, facts(node.other).schema
    left, rest = _parted(above, mine)
    right, rest = ([], rest) if node.outer else _parted(rest, theirs)
    own, spanning = _parted(_filters(node.other, node.condition), theirs)
    condition = simplifier.conjunction(one.predicate for one in spanning) if spanning else None
    child, other = moved_down(node.child, left), moved_down(node.other, (*own, *right))
    return _under(rest, replace(node, child=child, other=other, condition=condition))


def _filters(node: Node, condition: Boolean | None) -> list[Filter]:
    """The parts of a condition that all have to hold."""
    parts = condition.operands if isinstance(condition, And) else () if condition is None else (condition,)
    return [Filter(node, part) for part in parts]


def _under(conditions: Iterable[Condition], node: Node) -> Node:
    for condition in conditions:
        node = replace(condition, child=node)
    return node


def _parted(conditions: Sequence[Any], columns: Iterable[str], *, joins: bool = True) -> tuple[list[Any], list[Any]]:
    """Conditions about these columns alone, and those that one of them finds in a public table; and all others."""
    below: list[Any] = []
    rest: list[Any] = []
    known = set(columns)
    for condition in conditions:
        found = _found(condition)
        read = {name for value in _values(condition) for name in _names(value)} - found
        down = bool(read) and read <= known and (joins or not isinstance(condition, JoinPublic))
        (below if down else rest).append(condition)
        known |= found if down and isinstance(condition, JoinPublic) else set()
    return below, rest


def _found(condition: Condition) -> set[str]:
    """The columns of rows that a row is beside, or that it is compared with."""
    if isinstance(condition, Filter):
        return set()
    return set(facts(condition.public if isinstance(condition, JoinPublic) else condition.other).schema)


def _values(condition: Condition) -> list[Expression]:
    pairs = condition.equal if isinstance(condition, JoinPublic) else ()
    own = condition.predicate if isinstance(condition, Filter) else condition.condition
    return [*(side for pair in pairs for side in pair), *(() if own is None else (own,))]


def _names(value: Expression) -> set[str]:
    return {inner.name for inner in value.walk() if isinstance(inner, (Stored, StoredText))}


def _renamed(conditions: Iterable[Any], columns: Mapping[str, Expression]) -> list[Any]:
    """The same conditions about what these columns are further down."""
    found: list[Any] = []
    for one in conditions:
        name = "predicate" if isinstance(one, Filter) else "condition"
        found.append(replace(one, **{name: _with(getattr(one, name), columns)}))
    return found


def _with(value: Any, columns: Mapping[str, Expression]) -> Any:
    """An expression with others in the places of columns."""
    if isinstance(value, tuple):
        return tuple(_with(item, columns) for item in value)
    if isinstance(value, (Stored, StoredText)):
        return columns.get(value.name, value)
    if not isinstance(value, Expression):
        return value
    return replace(value, **{each.name: _with(getattr(value, each.name), columns) for each in fields(value)})
