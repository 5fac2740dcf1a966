"""What the analyst asked, bound to declared metadata, before any limit, price or mechanism is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from dither.policy.catalog import MOST_GROUPS, PublicTable, Table, engine_of
from dither.policy.columns import Coded, Column
from dither.records.keys import question_key
from dither.records.labels import labels_digest
from dither.sql.expressions import Numeric, Textual
from dither.sql.plan.aggregates import Aggregator, ValueColumn
from dither.sql.plan.nodes import Node, PublicScan, Scan
from dither.sql.postprocess.measure_errors import MeasureError

if TYPE_CHECKING:
    from dither.sql.postprocess.row_choice import After


@dataclass(frozen=True)
class GroupKey:
    """What rows are grouped by: the name shown, the expression of its code, and the declaration that decodes it."""

    name: str
    code: Numeric | Textual
    declaration: Column

    @property
    def public_range(self) -> tuple[int, int, bool]:
        """The least and the greatest code, and whether NULL is a group too."""
        if not isinstance(self.declaration, Coded):
            raise TypeError("a key without a public list of values has no range")
        return self.declaration.low, self.declaration.high, self.declaration.nullable


@dataclass(frozen=True)
class Output:
    """An aggregate under the name it is shown by."""

    name: str
    aggregate: Aggregator

    def finish(self, noisy: Sequence[NDArray[Any]], errors: Sequence[MeasureError]) -> ValueColumn:
        """The aggregate's column under this name."""
        return replace(self.aggregate.finish(noisy, errors), name=self.name)


@dataclass(frozen=True)
class Shown:
    """A select item: the key or the output at `index`."""

    kind: Literal["key", "output"]
    index: int


@dataclass(frozen=True)
class Question:
    """Keys in GROUP BY order, outputs in SELECT order, and `order`: what each shown column is, from left to right.

    `source` is the relation that is aggregated, without limits on rows. Outputs that `order` does not name serve
    `after`, which is done with noisy values alone.
    """

    source: Node
    people: str
    keys: tuple[GroupKey, ...]
    outputs: tuple[Output, ...]
    order: tuple[Shown, ...]
    after: After | None = None

    @cached_property
    def tables(self) -> tuple[Table | PublicTable, ...]:
        """Every table that is read, by name."""
        found = {node.table.name: node.table for node in self.source.walk() if isinstance(node, (Scan, PublicScan))}
        return tuple(found[name] for name in sorted(found))

    @property
    def engine(self) -> str:
        """The name of the engine that can answer it. Neither its key nor its price depends on that."""
        return engine_of(self.tables)

    @cached_property
    def snapshot(self) -> str:
        """The data that this question is about: counters, never derived from content."""
        return ",".join(f"{table.name}#{table.snapshot}" for table in self.tables)

    @cached_property
    def public(self) -> bool:
        """Whether all groups are known beforehand; otherwise their keys are selected privately."""
        count = 1
        for key in self.keys:
            values = key.declaration.key_count
            if values is None:
                return False
            count *= values
        return count <= MOST_GROUPS

    @cached_property
    def labels(self) -> str:
        """A digest of what the codes of its keys and chosen values stand for, which its text does not say."""
        leaves = (leaf for output in self.outputs for leaf in output.aggregate.leaves())
        chosen = (getattr(leaf, "declared", None) for leaf in leaves)
        return labels_digest(
            (*(key.declaration for key in self.keys), *(column for column in chosen if isinstance(column, Column)))
        )

    def canonical(self) -> str:
        """The same text for the same question in other words; with its snapshot, what a stored answer is found by.

        Aliases, letter case, comments and layout are gone. What is done after the noise is no part of it.
        """
        return question_key(
            self.people,
            self.source.text,
            (key.code.text for key in self.keys),
            (output.aggregate.text for output in self.outputs),
            (f"{shown.kind} {shown.index}" for shown in self.order),
        )
