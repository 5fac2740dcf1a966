"""A partition of a column into cells, learned from samples: values that repeat, ranges of the others, labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.lab.audit.columns import Column

Cells = npt.NDArray[np.intp]

MOST_CELLS = 2048
_LOOKED_AT = 1 << 17  # values of each side that edges are learned from; the extremes are looked for among all of them
_REPEATED = 4  # a value, or a range, that came this often is worth a cell
_MOST_LABELS = 4096
_WIDEST_TABLE = 1 << 20


@dataclass(frozen=True)
class Partition:
    """Cell i holds the numbers from edge i-1 up to, and without, edge i; labels follow, and last all others."""

    edges: npt.NDArray[Any]
    labels: dict[str, int]

    @property
    def size(self) -> int:
        return len(self.edges) + 2 + len(self.labels)

    def cells(self, column: Column) -> Cells:
        """The cell of each value."""
        found = _placed(self.edges, column.values)
        if column.labels is not None:
            other = np.flatnonzero([label is not None for label in column.labels])
            found[other] = [self._cell_of(label) for label in column.labels[other]]
        return found

    def _cell_of(self, label: str) -> int:
        return len(self.edges) + 1 + self.labels.get(label, len(self.labels))

    def counts(self, column: Column) -> npt.NDArray[np.int64]:
        """How many values there are in each cell."""
        return np.bincount(self.cells(column), minlength=self.size)

    def numbers(self) -> int:
        """How many cells hold numbers; the others hold labels."""
        return len(self.edges) + 1

    def describe(self, chosen: npt.NDArray[np.bool_]) -> str:
        """A set of cells in words: values, ranges and labels."""
        parts = list(self._ranges(chosen[: self.numbers()]))
        parts += [label for label, place in self.labels.items() if chosen[self.numbers() + place]]
        if chosen[-1] and self.labels:
            parts.append("anything else")
        shown = parts[:6] + ([f"... {len(parts) - 6} more"] if len(parts) > 6 else [])
        return " or ".join(shown) or "nothing"

    def _ranges(self, chosen: npt.NDArray[np.bool_]) -> Iterator[str]:
        """Runs of chosen cells; a cell that can hold one number only is that number."""
        steps = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
        for first, stop in zip(steps[::2], steps[1::2], strict=True):
            low = None if first == 0 else self.edges[first - 1]
            high = None if stop > len(self.edges) else self.edges[stop - 1]
            if low is not None and high is not None and high == _after(np.asarray(low)):
                yield f"= {low:.6g}"
            elif low is None or high is None:
                yield "any number" if low is high else f"< {high:.6g}" if low is None else f">= {low:.6g}"
            else:
                yield f"in [{low:.6g}, {high:.6g})"


def learn(one: Column, other: Column, most: int = MOST_CELLS) -> Partition:
    """Cells that follow what was drawn on either side: every repeated value by itself if there are few of them."""
    sides = [_numbers(column) for column in (one, other)]
    seen = np.concatenate([side[:: max(1, len(side) // _LOOKED_AT)] for side in sides])
    distinct, counts = np.unique(seen, return_counts=True)
    if len(distinct) <= most // 2 and _REPEATED * len(distinct) <= len(seen):
        atoms = distinct
        edges = [distinct]
    else:
        atoms = distinct[(counts * most > 2 * len(seen)) & (counts >= _REPEATED)]
        parts = max(2, min(most // 2, len(seen) // _REPEATED))
        places = np.linspace(0, len(seen) - 1, parts).astype(np.intp) if len(seen) else np.zeros(0, np.intp)
        edges = [np.repeat(distinct, counts)[places], *(_extremes(side) for side in sides)]
    found = np.unique(np.concatenate([*edges, atoms, _after(atoms)]))
    return Partition(found, _labels(one, other))


def _numbers(column: Column) -> npt.NDArray[Any]:
    return column.values if column.labels is None else column.values[~np.isnan(column.values)]


def _labels(*columns: Column) -> dict[str, int]:
    found: dict[str, int] = {}
    for column in columns:
        if column.labels is not None:
            for label in column.labels:
                if label is not None and len(found) < _MOST_LABELS:
                    found.setdefault(label, len(found))
    return found


def _extremes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values with 1, 4, 16 ... others at or beyond them on either side: rare outputs can betray the most."""
    size = len(values)
    ranks = np.array([rank for rank in (4**k for k in range(11)) if 2 * rank <= size], dtype=np.intp)
    if not len(ranks):
        return values
    places = np.concatenate([ranks - 1, size - ranks])
    return np.asarray(np.partition(values, places)[places])


def _after(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The next number of the same kind."""
    return values + 1 if values.dtype.kind == "i" else np.nextafter(values, np.inf)


def _placed(edges: npt.NDArray[Any], values: npt.NDArray[Any]) -> Cells:
    if values.dtype.kind == "i" and edges.dtype.kind == "i" and len(edges):
        first, last = int(edges[0]) - 1, int(edges[-1])
        if last - first < _WIDEST_TABLE:
            table = np.searchsorted(edges, np.arange(first, last + 1), side="right")
            return np.asarray(table[np.clip(values, first, last) - first])
    return np.searchsorted(edges, values, side="right")
