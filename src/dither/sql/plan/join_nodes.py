"""Plan nodes that put several relations together."""

from __future__ import annotations

from dataclasses import dataclass

from dither.records import recorded
from dither.sql.expressions import Boolean
from dither.sql.plan.plan_node import Equality, Node


@recorded("JoinPublic", "child", "public", "equal", "condition", "outer")
@dataclass(frozen=True)
class JoinPublic(Node):
    """Each row beside the row of a public relation in which all `equal` pairs agree; `outer` keeps rows without one."""

    child: Node
    public: Node
    equal: tuple[Equality, ...]
    condition: Boolean | None = None
    outer: bool = False


@recorded("JoinOwner", "child", "other", "equal", "condition", "outer")
@dataclass(frozen=True)
class JoinOwner(Node):
    """Each row beside the rows of the same owner in which all `equal` pairs agree; `outer` keeps rows without one."""

    child: Node
    other: Node
    equal: tuple[Equality, ...] = ()
    condition: Boolean | None = None
    outer: bool = False


@recorded("JoinFull", "child", "other", "equal", "condition")
@dataclass(frozen=True)
class JoinFull(Node):
    """Each row beside the rows of the same owner in which all `equal` pairs agree and the condition holds; rows of
    either side that find none are kept, with NULL in the columns of the other."""

    child: Node
    other: Node
    equal: tuple[Equality, ...] = ()
    condition: Boolean | None = None


@recorded("SemiJoin", "child", "other", "condition", "negated")
@dataclass(frozen=True)
class SemiJoin(Node):
    """Rows for which `other` has a row (or with `negated` none) where the condition is true.

    If `other` is private, only rows of the same owner are looked at.
    """

    child: Node
    other: Node
    condition: Boolean | None = None
    negated: bool = False


@recorded("UnionAll", "parts")
@dataclass(frozen=True)
class UnionAll(Node):
    """The rows of all parts, which have columns of the same names."""

    parts: tuple[Node, ...]
