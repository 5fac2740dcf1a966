"""What the analyst asked, bound to declared metadata, before any limit, price or mechanism is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from dither.columns import Coded
from dither.sql.aggregates import Aggregator, ValueColumn
from dither.sql.catalog import Table
from dither.sql.expressions import Boolean


@dataclass(frozen=True)
class GroupKey:
    """A grouping column with public values: the name shown, the declared name, the declaration."""

    name: str
    column: str
    declaration: Coded


@dataclass(frozen=True)
class Output:
    """An aggregate under the name it is shown by."""

    name: str
    aggregate: Aggregator

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[Fraction]) -> ValueColumn:
        """The aggregate's column under this name."""
        return replace(self.aggregate.finish(noisy, errors), name=self.name)


@dataclass(frozen=True)
class Shown:
    """A select item: the key or the output at `index`."""

    kind: Literal["key", "output"]
    index: int


@dataclass(frozen=True)
class Question:
    """Keys in GROUP BY order, outputs in SELECT order, and `order`: what each shown column is, from left to right."""

    table: Table
    predicate: Boolean | None
    keys: tuple[GroupKey, ...]
    outputs: tuple[Output, ...]
    order: tuple[Shown, ...]

    def canonical(self) -> str:
        """The same text for the same question in other words; with its snapshot, what a stored answer is found by."""
        from dither.sql.canonical import canonical

        return canonical(self)
