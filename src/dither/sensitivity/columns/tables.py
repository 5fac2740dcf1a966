"""The columns of a table, whatever holds it."""

from __future__ import annotations

from typing import Any

import numpy as np


def table_columns(table: Any) -> list[Any] | None:
    """Of a NumPy array of two dimensions, an Arrow, pandas or polars table; None of anything else."""
    if isinstance(table, np.ndarray):
        return [table[:, i] for i in range(table.shape[1])] if table.ndim == 2 else None
    if hasattr(table, "itercolumns"):  # Arrow
        return list(table.itercolumns())
    if hasattr(table, "get_columns"):  # polars
        return list(table.get_columns())
    if hasattr(table, "iloc") and getattr(table, "ndim", 0) == 2:  # pandas
        return [table.iloc[:, i] for i in range(table.shape[1])]
    return None
