"""What is done with a finished answer: which rows are kept, in which order, and how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dither.sql.postprocess.formulas import Condition, Given, Term, from_column
from dither.sql.postprocess.formulas.estimate import Finished
from dither.sql.postprocess.formulas.key_words import from_key, sortable
from dither.sql.postprocess.formulas.terms import Part

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Sorting:
    """One item of ORDER BY: a term over outputs and keys, or the key at a place."""

    by: Term | int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class After:
    """HAVING, ORDER BY, OFFSET and LIMIT, in the order in which they are done.

    Every number has its noise before any of it happens, so this is post-processing: it costs nothing, and it can only
    ever show what the noisy columns say. Rows that ORDER BY leaves equal stay in the order of their keys.
    """

    having: Condition | None = None
    order: tuple[Sorting, ...] = ()
    offset: int = 0
    limit: int | None = None

    def rows(self, keys: Sequence[pa.Array], outputs: Sequence[Finished], groups: int) -> NDArray[np.intp]:
        """The places of the rows that are shown, in their order; the same for the same columns."""
        given = Given([from_column(output) for output in outputs], [from_key(values) for values in keys])
        kept = np.arange(groups)
        if self.having is not None:
            kept = kept[np.broadcast_to(self.having.of(given).true, (groups,))]
        if self.order:
            ranks = [_ranks(item, given, keys, groups)[kept] for item in self.order]
            kept = kept[np.lexsort(ranks[::-1])]
        return kept[self.offset : None if self.limit is None else self.offset + self.limit]

    @property
    def chooses_by_noise(self) -> bool:
        """Whether noisy numbers decide which rows are shown."""
        return bool(self.notes())

    def notes(self) -> tuple[str, ...]:
        """What an analyst should know about rows that noise has chosen."""
        cut = self.offset > 0 or self.limit is not None
        sorted_by = [item.by for item in self.order if isinstance(item.by, Term)]
        noisy = {
            "HAVING": self.having is not None and _is_noisy(self.having),
            "LIMIT": cut and any(_is_noisy(term) for term in sorted_by),
        }
        chosen = [word for word, used in noisy.items() if used]
        if not chosen:
            return ()
        return (
            f"{' and '.join(chosen)} chose rows by their noisy values: rows near the border are in or out by chance, "
            "and numbers that were chosen for being large tend to be too large.",
        )


def _is_noisy(tree: Term | Condition) -> bool:
    """Whether it looks at an aggregate, and not at public keys alone."""
    return any(isinstance(node, Part) for node in tree.walk())


def _ranks(item: Sorting, given: Given, keys: Sequence[pa.Array], groups: int) -> NDArray[np.int64]:
    """Whole numbers that sort as the item says, NULLs first or last."""
    if isinstance(item.by, int):
        values, null = sortable(keys[item.by])
    else:
        found = item.by.of(given)
        values, null = found.values, found.null
    ranks = np.zeros(len(values), dtype=np.int64)
    _, ranks[~null] = np.unique(values[~null], return_inverse=True)
    ranks = -ranks if item.descending else ranks
    ranks[null] = -(len(values) + 1) if item.nulls_first else len(values) + 1
    return np.broadcast_to(ranks, (groups,))
