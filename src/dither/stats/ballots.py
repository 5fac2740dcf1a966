"""Ballots: whom each person likes, as a table of 0 and 1, or by name, from whatever holds it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.sensitivity.columns.reading import place_of, read_column
from dither.sensitivity.columns.records import _number
from dither.sensitivity.columns.tables import table_columns
from dither.stats.columns import booleans
from dither.stats.kinds import column_type, holds_numbers

_FORMS = (
    "a table of 0 and 1 with a column for each candidate (a NumPy array, an Arrow, pandas or polars table, a list of "
    "rows), or whom each person likes by name: a list or column of names, of lists of names, or of {name: 0 or 1}"
)


def likes(ballots: Any, candidates: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    """How many people like each candidate: a secret. A person likes each candidate once at most.

    Columns of a table are taken by name if their names are those of the candidates, else in order. Each row of a list
    or of a column is looked at by itself: a name, a set or dict of names, a list with names in it, or a list of 0 and
    1 in the order of the candidates. A row that is none of these likes nobody.
    """
    if isinstance(ballots, (list, tuple)) or (isinstance(ballots, np.ndarray) and ballots.dtype.kind in "OUS"):
        return _of_rows(ballots, candidates)
    columns = _columns(ballots, candidates)
    if columns is None:
        return _of_rows(_column_of_names(ballots, candidates), candidates)
    if len(columns) != len(candidates):
        raise ParameterError(
            f"a table of 0 and 1 has {len(candidates)} columns, one for each candidate; got {len(columns)}."
        )
    return np.array([np.count_nonzero(booleans(column, "ballots")) for column in columns], np.int64)


def _of_rows(rows: Iterable[Any], candidates: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    position = {candidate: place for place, candidate in enumerate(candidates)}
    counts = np.zeros(len(candidates), np.int64)
    for row in rows:
        counts[list(_liked(row, position))] += 1
    return counts


def _liked(row: Any, position: Mapping[Hashable, int]) -> set[int]:
    """The places of the candidates whom one row likes."""
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if isinstance(row, Mapping):
        return _named((name for name, mark in row.items() if _number(mark) == 1), position)
    if isinstance(row, (set, frozenset)):
        return _named(row, position)
    if isinstance(row, (list, tuple)):
        if any(isinstance(item, str) for item in row):
            return _named(row, position)
        return {place for place, item in enumerate(row) if _number(item) == 1} if len(row) == len(position) else set()
    return _named([row], position)


def _named(names: Iterable[Any], position: Mapping[Hashable, int]) -> set[int]:
    return {place for name in names if (place := place_of(name, position)) is not None}


def _column_of_names(column: Any, candidates: Sequence[Hashable]) -> Iterable[Any]:
    kind = column_type(column)
    if kind is None or getattr(column, "ndim", 1) != 1:
        raise ParameterError(f"ballots are {_FORMS}.")
    if holds_numbers(column) and all(isinstance(candidate, str) for candidate in candidates):
        raise ParameterError(f"a column of {kind} names none of the candidates, which are text; ballots are {_FORMS}.")
    return read_column(column).elements()


def _columns(table: Any, candidates: Sequence[Hashable]) -> list[Any] | None:
    columns = table_columns(table)
    if columns is None:
        return None
    names = list(getattr(table, "column_names" if hasattr(table, "column_names") else "columns", ()))
    if len(names) == len(candidates) and set(names) == set(candidates):
        return [columns[names.index(candidate)] for candidate in candidates]
    return columns
