"""What is known about a relation, derived from its plan and the declarations alone: the guard's own reasoning.

Rows of one owner: a scan has any number; a limit on ranks or a truncation has its own; filters, projections, windows,
semi-joins and joins to a public row found by its key keep the number; a join to several public rows multiplies by how
many there are at most; a join on owners multiplies, unless each row finds one at most; FULL JOIN and a union may add.
Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.sql.guard.facts import several_relations
from dither.sql.guard.facts.knowledge import Facts, Of
from dither.sql.guard.facts.one_relation import filtered, limited, projected, public_scan, scan, truncated
from dither.sql.guard.facts.owner_totals import of_public, per_owner
from dither.sql.guard.facts.several_relations import joined_fully, joined_owner, joined_public, semi_joined, united
from dither.sql.guard.facts.windows import windowed
from dither.sql.guard.ranges import UnsafePlan
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
    PublicAggregate,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    UnionAll,
)

RULES: dict[type[Node], Callable[[Any, Of], Facts]] = {
    Scan: scan,
    PublicScan: public_scan,
    OwnerLimit: limited,
    Filter: filtered,
    Project: projected,
    JoinPublic: joined_public,
    JoinOwner: joined_owner,
    JoinFull: joined_fully,
    SemiJoin: semi_joined,
    UnionAll: united,
    OwnerAggregate: per_owner,
    PublicAggregate: of_public,
    OwnerWindow: windowed,
    Retruncate: truncated,
}


@remembered
def facts(node: Node) -> Facts:
    """What is known about the rows that come out of a node, or `UnsafePlan`."""
    rule = RULES.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the plan node {type(node).__name__} is not known to keep the limit per owner.")
    return rule(node, facts)


def most_found(node: JoinPublic) -> int:
    """How many public rows one row finds at most."""
    return several_relations.most_found(node, facts)


__all__ = ["RULES", "Facts", "facts", "most_found"]
