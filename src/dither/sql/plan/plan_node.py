"""What all plan nodes have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dither.records import text_of
from dither.sql.expressions import Expression
from dither.sql.expressions.base import values_of_fields


@dataclass(frozen=True)
class Node:
    """A plan node; children are found by their type."""

    def children(self) -> Iterator[Node]:
        for value in values_of_fields(self):
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield item

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children():
            yield from child.walk()

    @property
    def text(self) -> str:
        """The node as it is recorded; a table is named without its snapshot."""
        return text_of(self)


Named = tuple[str, Expression]
Equality = tuple[Expression, Expression]
