"""The noise to expect of a column, as its answer will state it."""

from __future__ import annotations

from dither.sql.postprocess.measure_errors import errors_of

__all__ = ["errors_of"]
