"""Rows between Arrow and PostgreSQL. Into it by COPY in binary form: of text the server would log lines that failed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from psycopg import pq

from dither.engines.protocol import EngineError, StatementStopped
from dither.errors import PolicyError

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
BATCH = 65_536  # rows
_NULL = b"\xff\xff\xff\xff"
_WIDTHS = {"SMALLINT": 2, "INTEGER": 4, "BIGINT": 8}
_INTEGERS = {"int2", "int4", "int8"}
_MOST_DIGITS = 38
_AT_ONCE = 1024  # rows that the client asks for, where its library can


def copied(batch: Any, types: list[str]) -> Any:
    """A batch of rows in the binary form of COPY, as bytes: for each row the number of fields, and their lengths."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = pa.scalar(len(types).to_bytes(2, "big"), pa.large_binary())
    fields = [_field(batch.column(place), type_) for place, type_ in enumerate(types)]
    rows = pc.binary_join_element_wise(count, *fields, pa.scalar(b"", pa.large_binary()))
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, dtype="<i8")
    return memoryview(data)[ends[rows.offset] : ends[rows.offset + len(rows)]] if len(rows) else b""


def _field(column: Any, type_: str) -> Any:
    """A column with the length of each value before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = _WIDTHS.get(type_)
    if width is None:
        texts = column.cast(pa.large_string())
        if pc.any(pc.match_substring(texts, "\0")).as_py():
            raise PolicyError("PostgreSQL has no texts with the character U+0000, and the source has some.")
        lengths = _big_endian(pc.fill_null(pc.binary_length(texts.cast(pa.large_binary())), 0), 4)
        made = pc.binary_join_element_wise(lengths, texts.cast(pa.large_binary()), pa.scalar(b"", pa.large_binary()))
    else:
        values = _big_endian(pc.fill_null(column.cast(pa.int64()), 0), width)
        length = pa.scalar(width.to_bytes(4, "big"), pa.large_binary())
        made = pc.binary_join_element_wise(length, values, pa.scalar(b"", pa.large_binary()))
    return pc.if_else(column.is_null(), pa.scalar(_NULL, pa.large_binary()), made) if column.null_count else made


def _big_endian(column: Any, width: int) -> Any:
    """Whole numbers, none NULL, as bytes; one that does not fit is refused."""
    import pyarrow as pa

    numbers = column.to_numpy(zero_copy_only=False)
    stored = numbers.astype(f">i{width}")
    if not np.array_equal(stored, numbers):
        raise PolicyError("a value does not fit the column that was declared for it; nothing was stored.")
    fixed = pa.Array.from_buffers(pa.binary(width), len(stored), [None, pa.py_buffer(stored.tobytes())])
    return fixed.cast(pa.large_binary())


def arrow_table(cursor: Any, sql: str, most_bytes: int) -> Any:
    """The result of a statement: whole numbers and texts alone. StatementStopped if it has more bytes than that."""
    import pyarrow as pa

    batches, taken = [], 0
    for batch in _batches(cursor, sql):
        taken += batch.nbytes
        if taken > most_bytes:
            raise StatementStopped
        batches.append(batch)
    return pa.Table.from_batches(batches)


def _batches(cursor: Any, sql: str) -> Any:
    """At least one, so that the result has a schema: also of no rows, of which a stream does not say what they are."""
    cursor.execute(f"SELECT * FROM ({sql}) AS described LIMIT 0")
    types, rows, any_yet = types_of(cursor), [], False
    for row in cursor.stream(sql, binary=True, size=_AT_ONCE if pq.version() >= 170000 else 1):
        rows.append(row)
        if len(rows) == BATCH:
            yield batch_of(rows, types)
            rows, any_yet = [], True
    if rows or not any_yet:
        yield batch_of(rows, types)


def types_of(cursor: Any) -> list[str]:
    """The types of a result's columns, as the server says."""
    known = [cursor.adapters.types.get(column.type_code) for column in cursor.description]
    return ["" if found is None else str(found.name) for found in known]


def batch_of(rows: list[tuple[Any, ...]], types: list[str]) -> Any:
    """Rows as a batch of columns of these types."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    made = [_column(values, type_) for values, type_ in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(made, [f"c{place}" for place in range(len(made))])


def _column(values: Any, type_: str) -> Any:
    import pyarrow as pa

    if type_ in _INTEGERS:
        return pa.array(values, pa.int64())
    if type_ == "text":
        return pa.array(values, pa.string())
    if type_ != "numeric" or any(value is not None and not _whole(value) for value in values):
        raise EngineError
    return pa.array(values, pa.decimal128(_MOST_DIGITS, 0))


def _whole(value: Decimal) -> bool:
    return value.is_finite() and value == value.to_integral_value()
