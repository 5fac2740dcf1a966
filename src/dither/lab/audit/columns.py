"""What was published, as columns of numbers and labels: one for a number, several for a vector, a record or a list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError

_MOST_COLUMNS = 64
_NUMBERS = (int, float, Fraction, Decimal, np.integer, np.floating)


@dataclass(frozen=True)
class Column:
    """One number or label for each output: `values` are numbers, NaN where `labels` says what it was instead."""

    values: npt.NDArray[Any]
    labels: npt.NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def part(self, which: slice) -> Column:
        """Some of them."""
        return Column(self.values[which], None if self.labels is None else self.labels[which])


@dataclass(frozen=True)
class Outputs:
    """The columns of many outputs, by name; every column is a function of the output alone."""

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def part(self, which: slice) -> Outputs:
        """Some of them."""
        return Outputs({name: column.part(which) for name, column in self.columns.items()})


def read_outputs(drawn: Any, size: int) -> Outputs:
    """Arrays, lists of numbers, texts, None, REFUSED, vectors, records, sets, or results with a `value`."""
    plain = isinstance(drawn, np.ndarray) and drawn.dtype.kind in "biuf"
    array: npt.NDArray[Any] | None = drawn if plain else _as_numbers(drawn)
    if array is not None:
        _check_size(len(array) if array.ndim else 1, size)
        if array.ndim == 1:
            return Outputs({"output": _number_column(array)})
        flat = array.reshape(size, -1)
        return Outputs(
            {f"coordinate {i}": _number_column(flat[:, i]) for i in range(min(flat.shape[1], _MOST_COLUMNS))}
        )
    items = [_plain(item) for item in drawn]
    _check_size(len(items), size)
    return Outputs(_columns_of(items))


def _as_numbers(drawn: Any) -> npt.NDArray[Any] | None:
    """The array that a list of plain ints, floats or bools is, None for anything else."""
    if isinstance(drawn, np.ndarray):
        items: Any = drawn.reshape(-1) if drawn.dtype == object else None
        if items is None or drawn.ndim > 1:
            return None
        drawn = items.tolist()
    if isinstance(drawn, (str, bytes)) or not isinstance(drawn, Sequence):
        raise ParameterError(f"outputs come as an array or a list; got {type(drawn).__name__}.")
    kinds = set(map(type, drawn))
    if kinds <= {int, bool}:
        try:
            return np.array(drawn, dtype=np.int64)
        except OverflowError:
            return None
    return np.array(drawn, dtype=np.float64) if kinds <= {int, float, bool} else None


def _check_size(found: int, size: int) -> None:
    if found != size:
        raise ParameterError(f"the mechanism was asked for {size} outputs and gave {found}.")


def _number_column(values: npt.NDArray[Any]) -> Column:
    if values.dtype.kind in "biu":
        return Column(values.astype(np.int64) if values.dtype != np.uint64 else values.astype(np.float64))
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    if not missing.any():
        return Column(numbers)
    labels = np.full(len(numbers), None, dtype=object)
    labels[missing] = "nan"
    return Column(numbers, labels)


def _plain(item: Any) -> Any:
    """What was published, without the wrapping that says how."""
    while hasattr(item, "value") and hasattr(item, "guarantee"):
        item = item.value
    return item.tolist() if isinstance(item, (np.ndarray, np.generic)) else item


def _columns_of(items: list[Any]) -> dict[str, Column]:
    if not any(isinstance(item, (Sequence, Mapping, Set)) and not isinstance(item, (str, bytes)) for item in items):
        return {"output": _mixed(items)}
    records = [_record(item) for item in items]
    names = sorted({name for record in records for name in record})[:_MOST_COLUMNS]
    joint = Column(np.full(len(items), np.nan), np.array([_word(item) for item in items], dtype=object))
    return {"output": joint} | {name: _mixed([record.get(name, _ABSENT) for record in records]) for name in names}


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _record(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return {f"at {_word(key)}": value for key, value in item.items()}
    if isinstance(item, Set):
        return {f"has {_word(key)}": True for key in item}
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return {f"coordinate {i}": value for i, value in enumerate(item)} | {"length": len(item)}
    return {}


def _mixed(items: Sequence[Any]) -> Column:
    values = np.array([_number(item) for item in items], dtype=np.float64)
    other = np.isnan(values)
    if not other.any():
        whole = values.astype(np.int64) if np.all(np.abs(values) < 2**53) else values
        return Column(whole if np.array_equal(whole, values) else values)
    labels = np.full(len(items), None, dtype=object)
    labels[other] = [_word(items[i]) for i in np.flatnonzero(other).tolist()]
    return Column(values, labels)


def _number(item: Any) -> float:
    if isinstance(item, _NUMBERS):
        try:
            return float(item)
        except OverflowError:
            return math.inf if item > 0 else -math.inf
    return math.nan


def _word(item: Any) -> str:
    """A name that equal outputs share."""
    if isinstance(item, Set):
        return "{" + ", ".join(sorted(map(_word, item))) + "}"
    return item if isinstance(item, str) else repr(item)
