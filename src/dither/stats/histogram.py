"""Counts of every declared category, or of every interval between declared edges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.digits import decimal
from dither.exact.parameters import Number, exact
from dither.mechanisms.sealed_values import seal
from dither.neighbours import Relation
from dither.sensitivity.columns.reading import Reading, place_of, read_column
from dither.sensitivity.columns.records import _number
from dither.sensitivity.histogram import histogram as cells_moved
from dither.stats.estimate import Estimate, statistic
from dither.stats.kinds import number_column, one_column
from dither.stats.price import Price


@statistic
def histogram(
    x: Any,
    *,
    categories: Sequence[Hashable] | None = None,
    edges: Sequence[Number] | None = None,
    labels: Sequence[Hashable] | str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
) -> Estimate:
    """A noisy count for every declared category, empty ones included, as a dict; all of them for the stated price.

    With edges e0 < e1 < ... the cells are [e0, e1), [e1, e2), ..., the last one closed, named by their positions, by
    labels=[...], one for each, or with labels="intervals" like "[0, 18)". Records outside all cells are not counted.
    One record moves the counts by 1 in L1 under add_remove, by 2 under replace. Categories and edges are declared,
    never taken from the data. The interval covers all cells together.

    >>> sorted(histogram(["a", "b", "a"], categories=["a", "b", "c"], epsilon=1).value)
    ['a', 'b', 'c']
    """
    price = Price.read(epsilon, delta, rho, relation)
    if (categories is None) == (edges is None):
        raise ParameterError("declare categories=, or edges= of intervals: cells found in the data would betray them.")
    if categories is not None:
        names: list[Any] = list(categories)
        if labels is not None:
            raise ParameterError("labels= name the intervals between edges=; categories have their own names.")
        counts = category_counts(x, names)
    else:
        ends = [exact(edge, "an edge") for edge in edges or ()]
        if len(ends) < 2 or not all(one < two for one, two in pairwise(ends)):
            raise ParameterError("edges must rise, and there must be at least two.")
        names = _interval_names(ends, labels)
        counts = _interval_counts(number_column(x), ends)
    moved = cells_moved(price.relation)
    noise = price.noise(moved.l1, moved.l2_squared, Fraction(1))
    release = noise.release(seal(counts))
    values = [int(value) for value in release.value]

    def bounds(sure: Fraction) -> tuple[dict[Any, int], dict[Any, int]]:
        reach = int(noise.error(sure, count=len(names)))
        return (
            {name: value - reach for name, value in zip(names, values, strict=True)},
            {name: value + reach for name, value in zip(names, values, strict=True)},
        )

    found = dict(zip(names, values, strict=True))
    kind, ordered = type(noise).__name__, edges is not None
    return Estimate(found, noise.guarantee, kind, found, bounds, scale_=noise.scale, ordered=ordered)


def _interval_names(ends: list[Fraction], labels: Sequence[Hashable] | str | None) -> list[Any]:
    if labels is None:
        return list(range(len(ends) - 1))
    if labels == "intervals":
        short = [decimal(end) for end in ends]
        shown = short if len(set(short)) == len(short) else [str(end) for end in ends]
        return [f"[{low}, {high})" for low, high in pairwise(shown[:-1])] + [f"[{shown[-2]}, {shown[-1]}]"]
    names = [] if isinstance(labels, str) else list(labels)
    if len(names) != len(ends) - 1 or len(set(names)) != len(names):
        raise ParameterError(
            f'labels= is "intervals", or a name for each of the {len(ends) - 1} intervals, all of them different.'
        )
    return names


def category_counts(x: Any, categories: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    """How often each declared category occurs: a secret. Records outside them are not counted."""
    position = {category: i for i, category in enumerate(categories)}
    if not position or len(position) != len(categories):
        raise ParameterError("declare at least one category, and each once.")
    counts = np.zeros(len(position), np.int64)
    one_column(x)
    for item, times in _tally(read_column(x)):
        place = place_of(item, position)
        if place is not None:
            counts[place] += times
    return counts


def _tally(column: Reading) -> Iterable[tuple[Any, int]]:
    """The records as Python values with how often they occur; nulls are None."""
    if column.values.dtype.kind not in "biufSU":
        return ((item, 1) for item in column.elements())
    values, often = np.unique(column.present, return_counts=True)
    return [*zip(values.tolist(), often.tolist(), strict=True), (None, column.absent)]


def _interval_counts(column: Reading, ends: list[Fraction]) -> npt.NDArray[np.int64]:
    """Compared exactly: a float stands for its exact value, so an edge is replaced by the float next to it."""
    if column.values.dtype.kind == "O":
        numbers = [number for item in column.elements() if (number := _number(item)) is not None]
        places = [sum(end <= number for end in ends) - (number == ends[-1]) for number in numbers]
        inside = [place - 1 for place in places if 1 <= place < len(ends)]
        return np.bincount(inside, minlength=len(ends) - 1).astype(np.int64)
    present = column.present
    present = np.sort(present[~np.isnan(present)] if present.dtype.kind == "f" else present)
    # The first record that is not below an edge; beyond the last edge, the first one above it.
    starts = [_first_at_least(present, end) for end in ends[:-1]]
    stop = _first_above(present, ends[-1])
    return np.diff([*starts, max(stop, starts[-1])]).astype(np.int64)


def _first_at_least(values: npt.NDArray[Any], edge: Fraction) -> int:
    return bisect_left(range(values.size), edge, key=lambda i: _exact(values[i]))


def _first_above(values: npt.NDArray[Any], edge: Fraction) -> int:
    return bisect_right(range(values.size), edge, key=lambda i: _exact(values[i]))


def _exact(value: Any) -> Any:
    item = value.item()
    return item if isinstance(item, float) and item in (float("inf"), float("-inf")) else Fraction(item)
