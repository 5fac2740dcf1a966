"""Ballots: a table of 0 and 1, one row a person, one column a candidate, from whatever holds it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.sensitivity.records import _number
from dither.stats.columns import booleans

_FORMS = "a NumPy array, an Arrow, pandas or polars table, or a list of rows"


def likes(ballots: Any, candidates: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    """How many people like each candidate: a secret. A row of a list that is no ballot likes nobody.

    Columns of a table are taken by name if their names are those of the candidates, else in order.
    """
    if isinstance(ballots, (list, tuple)):
        return _of_rows(ballots, len(candidates))
    columns = _columns(ballots, candidates)
    if columns is None:
        raise ParameterError(f"ballots are a table of 0 and 1: {_FORMS}.")
    if len(columns) != len(candidates):
        raise ParameterError(
            f"ballots are a table of 0 and 1 with {len(candidates)} columns, one for each candidate; "
            f"got {len(columns)}."
        )
    return np.array([np.count_nonzero(booleans(column, "ballots")) for column in columns], np.int64)


def _of_rows(rows: Sequence[Any], candidates: int) -> npt.NDArray[np.int64]:
    counts = np.zeros(candidates, np.int64)
    for row in rows:
        if isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim == 1):
            items = row.tolist() if isinstance(row, np.ndarray) else row
            if len(items) == candidates:
                counts += [_number(item) == 1 for item in items]
    return counts


def _columns(table: Any, candidates: Sequence[Hashable]) -> list[Any] | None:
    if isinstance(table, np.ndarray):
        return [table[:, i] for i in range(table.shape[1])] if table.ndim == 2 else None
    if hasattr(table, "itercolumns"):  # Arrow
        names, columns = list(table.column_names), list(table.itercolumns())
    elif hasattr(table, "get_columns"):  # polars
        names, columns = list(table.columns), list(table.get_columns())
    elif hasattr(table, "iloc") and getattr(table, "ndim", 0) == 2:  # pandas
        names, columns = list(table.columns), [table.iloc[:, i] for i in range(table.shape[1])]
    else:
        return None
    if len(names) == len(candidates) and set(names) == set(candidates):
        return [columns[names.index(candidate)] for candidate in candidates]
    return columns
