"""Windows within the rows of one owner."""

from __future__ import annotations

from dataclasses import dataclass

from dither.records import recorded, text_of
from dither.sql.expressions import Expression, Numeric
from dither.sql.plan.plan_node import Node


@recorded(None, "function", "value", "away", "partition", "order", "most")
@dataclass(frozen=True)
class Window:
    """A row's place among its owner's, at most `most`, or a value of the row so far `away`; NULL if there is none.

    Rows of an owner are looked at that agree in `partition`, in this order: each part of it an expression, whether the
    greatest comes first, and whether NULL does. Rows that are level are told apart by the ranks that they were given
    when loaded; RANK and DENSE_RANK let them be level.
    """

    function: str  # "row_number", "rank", "dense_rank", "lag" or "lead"
    value: Numeric | None
    away: int
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, bool, bool], ...]
    most: int

    @property
    def text(self) -> str:
        """The window as it is recorded, in its place within a node."""
        return text_of(self)


@recorded("OwnerWindow", "child", "windows")
@dataclass(frozen=True)
class OwnerWindow(Node):
    """The same rows, each with its own columns and one more for each window over the rows of its owner."""

    child: Node
    windows: tuple[tuple[str, Window], ...]
