"""Plan nodes: frozen, engine-neutral, and few, so that `check` can reason about each of them.

A query becomes one or two aggregations over the same scan. Each measure is an exact integer per group; what the
analyst sees is computed from noisy measures afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields

from dither.sql.catalog import Table
from dither.sql.expressions import Boolean, Numeric


@dataclass(frozen=True)
class Node:
    """A plan node; children are found by their type."""

    def children(self) -> Iterator[Node]:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Node):
                yield value

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True)
class Scan(Node):
    """All rows of a table's protected snapshot."""

    table: Table


@dataclass(frozen=True)
class OwnerLimit(Node):
    """At most `rows` rows of each owner: those whose rank within the owner is at most `rows`."""

    child: Node
    rows: int


@dataclass(frozen=True)
class Filter(Node):
    """Rows for which the predicate is true (not false, not NULL)."""

    child: Node
    predicate: Boolean


@dataclass(frozen=True)
class Key:
    """A public group key: the codes low..high of a stored column, and NULL after them if it is nullable."""

    column: str
    low: int
    high: int
    nullable: bool

    @property
    def count(self) -> int:
        return self.high - self.low + 1 + self.nullable


@dataclass(frozen=True)
class Measure:
    """An exact integer per group."""

    @property
    def text(self) -> str:
        """The same for equal measures only: what a stored release calls it."""
        parts = [getattr(self, f.name) for f in fields(self)]
        return json.dumps([type(self).__name__, *(part and part.text for part in parts)])


@dataclass(frozen=True)
class CountRows(Measure):
    """How many rows there are (`condition` None), or for how many the condition is true."""

    condition: Boolean | None = None


@dataclass(frozen=True)
class SumRows(Measure):
    """The sum of a value over the rows where it is not NULL. It ends in a clamp, or is a stored column."""

    value: Numeric


@dataclass(frozen=True)
class CountOwners(Measure):
    """How many owners have at least one row."""


@dataclass(frozen=True)
class Aggregate(Node):
    """The measures of each group; every combination of public keys has a result, empty or not."""

    child: Node
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]

    @property
    def group_count(self) -> int:
        count = 1
        for key in self.keys:
            count *= key.count
        return count
