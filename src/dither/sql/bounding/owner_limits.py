"""Limits on the rows that each owner has in the tables of a relation."""

from __future__ import annotations

from dataclasses import replace

from dither.exact.parameters import whole
from dither.sql.bounding.flow import looked_up
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import (
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
)


def most_rows(node: Node) -> int:
    """How many rows of a relation one owner can have if every table keeps to its declared maximum."""
    return facts(Limits(None).limited(node)).rows or 1


def most_in_all(node: Node) -> int:
    """How many rows a relation can have of all owners together: what the sums over it are proven to hold."""
    return facts(Limits(None).limited(node)).total


class Limits:
    """Puts a limit on the rows that each owner has in every table that is read row by row.

    Joins may multiply them: all that they make count, as declared, since an interval would not cover rows cut off.
    Questions whose joins make too many rows of one owner are refused (`max_join_rows_per_owner`).
    """

    def __init__(self, rows_per_owner: int | None) -> None:
        self._rows = rows_per_owner

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
            return replace(node, child=self.limited(node.child), other=self._looked_at(node))
        if isinstance(node, JoinOwner):
            return self._joined(node)
        return node

    def _looked_at(self, node: SemiJoin) -> Node:
        """Rows that are only looked for need no limit, unless rows of one owner meet each other.

        Where they are tried out one by one, as many count as are declared to, whatever number was chosen.
        """
        if any(isinstance(inner, JoinOwner) for inner in node.other.walk()):
            return self.limited(node.other)
        return node.other if looked_up(node) else Limits(None).limited(node.other)

    def _joined(self, node: JoinOwner) -> Node:
        """A side of which each row of the other finds one at most need not be limited."""
        child, other = self.limited(node.child), self.limited(node.other)
        for made in (replace(node, child=child), replace(node, other=other)):
            if facts(made).rows is not None:
                return made
        return replace(node, child=child, other=other)
