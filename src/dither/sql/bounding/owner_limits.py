"""Limits on the rows that each owner has in the tables of a relation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dither.exact.parameters import whole
from dither.sql.expressions import Stored, StoredText
from dither.sql.guard.facts import facts
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


def finds_one(node: Node, agreed: set[str]) -> bool:
    """Whether a row that must agree in these columns with rows of a relation finds one of the same owner at most."""
    relation = facts(node)
    return relation.rows == 1 or (relation.distinct is not None and relation.distinct <= agreed)


def agreeing(join: JoinOwner, place: int) -> set[str]:
    """The columns of one side of a join that are held equal to something of the other."""
    return {value.name for value in (pair[place] for pair in join.equal) if isinstance(value, (Stored, StoredText))}


def found_once(join: JoinOwner) -> Node | None:
    """The side of which each row of the other finds one at most, if no more rows are made than the other side has."""
    if finds_one(limited_by(join.other, Limits(None)), agreeing(join, 1)):
        return join.other
    turned = not join.outer and finds_one(limited_by(join.child, Limits(None)), agreeing(join, 0))
    return join.child if turned else None


@dataclass(frozen=True)
class Limits:
    """Puts a limit on the rows that each owner has in every table: no answer is about more than the declared ones.

    Joins may multiply them: all that they make count, as declared, since an interval would not cover rows cut off.
    Questions whose joins make too many rows of one owner are refused (`max_join_rows_per_owner`).
    """

    rows_per_owner: int | None

    def limited(self, node: Node) -> Node:
        if isinstance(node, Scan):
            most = node.table.max_rows_per_owner
            rows = most if self.rows_per_owner is None else min(most, whole(self.rows_per_owner, "rows_per_owner"))
            return OwnerLimit(node, rows)
        if isinstance(node, (Filter, Project, OwnerAggregate, OwnerWindow)):
            return replace(node, child=limited_by(node.child, self))
        if isinstance(node, UnionAll):
            return replace(node, parts=tuple(limited_by(part, self) for part in node.parts))
        if isinstance(node, JoinPublic):
            return replace(node, child=limited_by(node.child, self)) if facts(node.child).private else node
        if isinstance(node, SemiJoin):
            return replace(node, child=limited_by(node.child, self), other=self._looked_at(node))
        if isinstance(node, JoinOwner):
            return self._joined(node)
        if isinstance(node, JoinFull):  # which rows find none depends on all that count
            return replace(node, child=limited_by(node.child, self), other=limited_by(node.other, self))
        return node

    def _looked_at(self, node: SemiJoin) -> Node:
        """Of rows that are only looked for as many count as are declared to, whatever number was chosen, unless rows of
        one owner meet each other."""
        met = any(isinstance(inner, (JoinOwner, JoinFull)) for inner in node.other.walk())
        return limited_by(node.other, self if met else Limits(None))

    def _joined(self, node: JoinOwner) -> Node:
        """Of a side of which each row of the other finds one at most as many rows count as are declared to."""
        once = found_once(node)
        child, other = (limited_by(side, Limits(None) if side is once else self) for side in (node.child, node.other))
        return replace(node, child=child, other=other)


@remembered
def limited_by(node: Node, limits: Limits) -> Node:
    """What they make of a part of a relation, which is looked at for itself, and as a side of each join above it."""
    return limits.limited(node)
