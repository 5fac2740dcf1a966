"""Limits on the rows that each owner has in the tables of a relation."""

from __future__ import annotations

from dataclasses import replace

from dither.parameters import whole
from dither.sql.facts import facts
from dither.sql.plan import (
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    Retruncate,
    Scan,
    SemiJoin,
    UnionAll,
)


def most_rows(node: Node) -> int:
    """How many rows of a relation one owner can have if every table keeps to its declared maximum."""
    return facts(Limits(None).source(node)).rows or 1


class Limits:
    """Puts a limit on the rows that each owner has in every table that is read row by row."""

    def __init__(self, rows_per_owner: int | None) -> None:
        self._rows = rows_per_owner

    def source(self, node: Node) -> Node:
        """The relation with limits; if joins could still multiply an owner's rows, they are cut once more."""
        limited = self.limited(node)
        most = sum(inner.rows for inner in limited.walk() if isinstance(inner, OwnerLimit))
        rows = facts(limited).rows
        return limited if rows is not None and rows <= most else Retruncate(limited, max(most, 1))

    def limited(self, node: Node) -> Node:
        if isinstance(node, Scan):
            most = node.table.max_rows_per_owner
            rows = most if self._rows is None else min(most, whole(self._rows, "rows_per_owner"))
            return OwnerLimit(node, rows)
        if isinstance(node, (Filter, Project, OwnerAggregate)):
            return replace(node, child=self.limited(node.child))
        if isinstance(node, UnionAll):
            return replace(node, parts=tuple(self.limited(part) for part in node.parts))
        if isinstance(node, JoinPublic):
            return replace(node, child=self.limited(node.child)) if facts(node.child).private else node
        if isinstance(node, SemiJoin):
            return replace(node, child=self.limited(node.child))
        if isinstance(node, JoinOwner):
            return self._joined(node)
        return node

    def _joined(self, node: JoinOwner) -> Node:
        """A side of which each row of the other finds one at most need not be limited."""
        one_sided = replace(node, child=self.limited(node.child))
        if facts(one_sided).rows is not None:
            return one_sided
        other_sided = replace(node, other=self.limited(node.other))
        if facts(other_sided).rows is not None:
            return other_sided
        return replace(one_sided, other=self.limited(node.other))
