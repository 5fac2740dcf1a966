"""The columns of an answer before there is one: names and types, from the question and the declarations alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.answer import numbers
from dither.answer.columns import Key, Value
from dither.answer.intervals import ends

if TYPE_CHECKING:
    import pyarrow as pa

    from dither.answer.answer import Answer


@dataclass(frozen=True)
class OutputColumn:
    """A column that an answer will have; a noisy one may have an interval."""

    name: str
    type: pa.DataType
    noisy: bool = False


def shape_of(answer: Answer) -> tuple[OutputColumn, ...]:
    """The shape of an answer without rows."""
    return tuple(
        output_column(column, noisy=isinstance(column, Value) and ends(column) is not None) for column in answer.columns
    )


def output_column(column: Key | Value, *, noisy: bool) -> OutputColumn:
    """A column's name and type."""
    if isinstance(column, Key):
        return OutputColumn(column.name, column.values.type)
    return OutputColumn(column.name, numbers.to_arrow(column.values, column.decimals).type, noisy)
