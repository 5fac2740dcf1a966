"""What a statement gives back: rows that are written as they are asked for, or only a word that it was done."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dither.answer.columns import Value
from dither.answer.intervals import ends
from dither.server.wire.channel import ProtocolViolation, cstring
from dither.server.wire.sqlstates import Report
from dither.server.wire.value_types import TEXT, ValueType, encoded, type_of

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.answer.shape import OutputColumn

_PIECE = 1000  # rows that are written at a time


@dataclass(frozen=True)
class RowColumn:
    """A column of a result."""

    name: str
    type: ValueType


Columns = tuple[RowColumn, ...]


@dataclass(frozen=True)
class Rows:
    """Columns with their cells: Arrow columns, or lists."""

    columns: Columns
    cells: Sequence[Any]

    def __len__(self) -> int:
        return len(self.cells[0]) if self.cells else 0

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return sum(getattr(cells, "nbytes", 64 * len(cells)) for cells in self.cells)

    def messages(self, first: int, last: int, formats: Sequence[int]) -> Iterator[bytes]:
        """Rows as DataRow messages."""
        count = struct.pack("!h", len(self.columns))
        for start in range(first, last, _PIECE):
            end = min(start + _PIECE, last)
            columns = [
                encoded(_listed(cells, start, end), column.type, binary=bool(form))
                for column, cells, form in zip(self.columns, self.cells, formats, strict=True)
            ]
            for row in zip(*columns, strict=True):
                content = b"".join(row)
                yield b"D" + struct.pack("!i", 6 + len(content)) + count + content


def _listed(cells: Any, start: int, end: int) -> list[Any]:
    part = cells[start:end]
    return part if isinstance(part, list) else part.to_pylist()


@dataclass(frozen=True)
class Outcome:
    """A statement that was run: what it was, its rows if it has any, and what is to be said beside them."""

    tag: str
    rows: Rows | None = None
    notices: tuple[Report, ...] = field(default=())
    counted: bool = True  # whether the number of rows belongs to the tag


def text_rows(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Rows:
    """Rows of texts."""
    columns = tuple(RowColumn(name, ValueType(TEXT)) for name in names)
    return Rows(columns, [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names])


def described(columns: Columns, formats: Sequence[int]) -> list[bytes]:
    """The content of a RowDescription."""
    parts = [struct.pack("!h", len(columns))]
    for column, form in zip(columns, formats, strict=True):
        parts += [
            cstring(column.name),
            struct.pack("!ihihih", 0, 0, column.type.oid, column.type.size, -1, form),
        ]
    return parts


def formats_for(columns: Columns | None, stated: Sequence[int]) -> list[int]:
    """A format for each column: none stated is text, one is for all of them."""
    count = len(columns or ())
    if any(form not in (0, 1) for form in stated) or (len(stated) > 1 and len(stated) != count):
        raise ProtocolViolation("formats are 0 or 1, one for each column.")
    return [*stated] if len(stated) > 1 else [*stated, 0][:1] * count


def columns_of(shape: Sequence[OutputColumn], *, intervals: bool) -> Columns:
    """The columns of an answer; with intervals, each noisy one is followed by its ends."""
    found = []
    for column in shape:
        kind = type_of(column.type)
        names = [column.name]
        if intervals and column.noisy:
            names += [f"{column.name}_lower", f"{column.name}_upper"]
        found += [RowColumn(name, kind) for name in names]
    return tuple(found)


def answer_rows(answer: Answer, shape: Sequence[OutputColumn], *, intervals: bool) -> Rows:
    """An answer under the columns that it was said to have; an end without bound is NULL."""
    table = answer.to_arrow(intervals=True)
    cells, place = [], 0
    for column, said in zip(answer.columns, shape, strict=True):
        bounded = isinstance(column, Value) and ends(column) is not None
        cells.append(table.column(place))
        if intervals and said.noisy:
            nothing = [None] * len(answer)
            cells += [table.column(place + 1), table.column(place + 2)] if bounded else [nothing, nothing]
        place += 3 if bounded else 1
    return Rows(columns_of(shape, intervals=intervals), cells)
