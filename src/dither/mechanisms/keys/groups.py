"""Groups whose keys come from the data: sealed with their measures until a selection has said which may be shown.

Which keys are shown is all that a selection tells. They are put in the order of their values, which the data do not
decide; the measures of kept groups stay sealed, for mechanisms of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.mechanisms.codes import Grid
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.group_choice import GroupChoice, Masses
from dither.mechanisms.quantiles.histograms import Histograms
from dither.mechanisms.quantiles.quantile import Quantile
from dither.mechanisms.sealed_values import Exact, SealedTable, _unseal, seal
from dither.mechanisms.selection.exponential import Exponential

Look = Callable[[npt.NDArray[np.intp]], tuple[npt.NDArray[Any], ...]]


@dataclass(frozen=True)
class _Groups:
    """`most` are upper bounds of the first measure, and `look` finds the measures of the groups at some places."""

    keys: tuple[Any, ...]  # an Arrow array a key
    most: npt.NDArray[Any]
    look: Look

    @cached_property
    def measures(self) -> tuple[npt.NDArray[Any], ...]:
        """The measures of all groups."""
        return self.look(np.arange(len(self.most)))


@dataclass(frozen=True)
class _Histogram:
    keys: tuple[Any, ...]  # an Arrow array a key, or no key and the place of each line's group
    places: npt.NDArray[np.int64] | None
    codes: npt.NDArray[Any]
    counts: npt.NDArray[Any]


@dataclass(frozen=True)
class SelectedGroups:
    """The keys that may be shown, their noisy counts of owners, and their other measures, still sealed.

    If they are not the `whole`, more keys passed the selection than there was room for.
    """

    keys: tuple[Any, ...]
    owners: npt.NDArray[Any]
    measures: tuple[Exact, ...]
    whole: bool = True


def seal_groups(keys: Sequence[Any], measures: Sequence[npt.NDArray[Any]]) -> SealedTable:
    """Seal the groups of a query: for each its keys and its exact measures."""
    known = tuple(measures)
    return SealedTable(_Groups(tuple(keys), known[0], lambda places: tuple(measure[places] for measure in known)))


def seal_bounded_groups(keys: Sequence[Any], most: npt.NDArray[Any], look: Look) -> SealedTable:
    """Seal groups whose measures are looked up as far as they are needed; `most` bounds the first one from above."""
    return SealedTable(_Groups(tuple(keys), most, look))


def seal_histogram(
    keys: Sequence[Any], places: npt.NDArray[np.int64] | None, codes: npt.NDArray[Any], counts: Any
) -> SealedTable:
    """Seal how often each code occurs in each group, known by its place or by its keys."""
    return SealedTable(_Histogram(tuple(keys), places, codes, np.asarray(counts)))


def select_groups(sealed: SealedTable, selection: KeySelection, most: int | None = None) -> SelectedGroups:
    """Show the keys whose first measure, the number of their owners, passes the selection; the first `most` of them."""
    groups: _Groups = _content(sealed, _Groups)
    near: list[npt.NDArray[np.intp]] = []
    found: list[tuple[npt.NDArray[Any], ...]] = []

    def owners(places: npt.NDArray[np.intp]) -> Exact:
        near.append(places)
        found.append(groups.look(places))
        return seal(found[0][0])

    outcome = selection.release_below(seal(groups.most), owners)
    if outcome.counts is None:
        raise ParameterError("keys are selected by a method that publishes noisy counts.")
    order, keys = _in_order(groups.keys, outcome.kept)
    whole = most is None or len(order) <= most
    order, keys = order[:most], tuple(key[:most] for key in keys)
    kept = np.searchsorted(near[0], outcome.kept[order])
    measures = tuple(seal(measure[kept]) for measure in found[0][1:])
    return SelectedGroups(keys, outcome.counts[order], measures, whole)


def measures_of(sealed: SealedTable, shown: Sequence[Any]) -> tuple[Exact, ...]:
    """The measures of the groups with these keys, which have been selected; 0 where a group is not there."""
    groups: _Groups = _content(sealed, _Groups)
    place = _places(groups.keys, shown)
    size = len(shown[0])
    found = []
    for measure in groups.measures:
        dense = np.zeros(size, dtype=measure.dtype)
        dense[place[place >= 0]] = measure[place >= 0]
        found.append(seal(dense))
    return tuple(found)


def choose_values(
    sealed: SealedTable, mechanism: Quantile | Exponential, groups: int, low: int, high: int, shown: Sequence[Any] = ()
) -> npt.NDArray[np.int64]:
    """One value for each group, by the mechanism on the group's own histogram: all groups at once, each by itself."""
    histogram: _Histogram = _content(sealed, _Histogram)
    place = histogram.places if histogram.places is not None else _places(histogram.keys, shown)
    grid = Grid(Fraction(1), low, high)
    if isinstance(mechanism, Quantile) and mechanism.grid != grid:
        raise ParameterError("a quantile of codes is chosen among all codes from the lowest to the highest.")
    masses = Masses(mechanism.bands if isinstance(mechanism, Quantile) else Bands.even(grid), high)
    chosen = np.empty(groups, np.int64)
    for part, lines in Histograms.of(place, histogram.codes, histogram.counts, groups, low, high).parts():
        chosen[part] = _chosen(mechanism, lines, masses)
    return chosen


def _chosen(mechanism: Quantile | Exponential, lines: Histograms, masses: Masses) -> Any:
    if isinstance(mechanism, Exponential):
        return GroupChoice.of(lines.by_count(mechanism.rate), masses).draw()
    if lines.large:  # one group, of which the mechanism by itself looks at the ranks near the target alone
        return mechanism.release_from_counts(seal(lines.codes), seal(lines.counts)).value
    return GroupChoice.of(lines.by_rank(mechanism.q, mechanism.rate), masses).draw()


def _content(sealed: SealedTable, kind: type[Any]) -> Any:
    content = _unseal(sealed)
    if not isinstance(content, kind):
        raise ParameterError(f"this is not a sealed {kind.__name__.strip('_').lower()}.")
    return content


def _in_order(keys: Sequence[Any], kept: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int64], tuple[Any, ...]]:
    """The positions of the kept keys in the order of their values, NULL last, and the keys so ordered."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [f"k{i}" for i in range(len(keys))]
    table = pa.table([key.take(pa.array(kept)) for key in keys], names=names)
    ascending: Any = [(name, "ascending", "at_end") for name in names]
    order = pc.sort_indices(table, sort_keys=ascending)
    ordered = table.take(order)
    return order.to_numpy().astype(np.int64), tuple(ordered.column(name).combine_chunks() for name in names)


def _places(keys: Sequence[Any], shown: Sequence[Any]) -> npt.NDArray[np.int64]:
    """For each group its place among the shown keys, which are distinct, or -1. NULL is a value like others.

    Key by key: `known` numbers the different beginnings of the shown keys, `found` is the number of each group's own.
    """
    known, found = np.zeros(len(shown[0]), np.int64), np.zeros(len(keys[0]), np.int64)
    for key, values in zip(keys, shown, strict=True):
        ours, theirs = _firsts(values, values), _firsts(key, values)
        known, beginnings = known * len(known) + ours, found * len(known) + theirs
        numbered, known = np.unique(known, return_inverse=True)
        at = np.searchsorted(numbered, beginnings)
        same = np.append(numbered, -1)[at] == beginnings
        found = np.where(same & (found >= 0) & (theirs >= 0), at, -1)
    place = np.full(len(known) + 1, -1)  # the last one is of those that were not found
    place[known] = np.arange(len(known))
    return place[found]


def _firsts(key: Any, values: Any) -> npt.NDArray[np.int64]:
    """Where each key first comes among the values, or -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if key.type != values.type and pa.types.is_integer(key.type) and pa.types.is_integer(values.type):
        key, values = key.cast(pa.int64()), values.cast(pa.int64())
    first = pc.index_in(key, value_set=values)
    return np.asarray(first.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
