"""An answer as JSON, rows with their intervals and what the analyst should know beside them, and as CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dither.answer.columns import Chosen, Key, Value
from dither.escape import json_text, spreadsheet_cell
from dither.exact.digits import number_above

if TYPE_CHECKING:
    from dither.answer.answer import Answer


def to_json(answer: Answer) -> str:
    """The answer as one JSON object. Whole numbers are numbers; decimals and dates are text, so no digit is lost."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in answer.to_dicts(intervals=True)]
    document = {
        "columns": [_column(column) for column in answer.columns],
        "rows": rows,
        "price": dict(answer.price),
        "charged": answer.charged,
        "guarantee": answer.guarantee,
        "confidence": str(float(answer.confidence)),
        "notes": list(answer.notes),
    }
    return json_text(document, allow_nan=False)


def csv_bytes(answer: Answer, intervals: bool = True, *, raw: bool = False) -> bytes:
    """The rows as CSV, quoted where needed; texts are no formulas and hold nothing invisible, unless raw."""
    from pyarrow import BufferOutputStream, csv

    table = answer.to_arrow(intervals)
    if not raw:
        names = [spreadsheet_cell(name) for name in table.column_names]
        table = table.from_arrays([_harmless(column) for column in table.columns], names)
    sink = BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _harmless(column: Any) -> Any:
    """A column of text as cells that a spreadsheet shows; any other as it is."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    return pa.array([None if text is None else spreadsheet_cell(text) for text in column.to_pylist()], kind)


def _column(column: Key | Value) -> dict[str, Any]:
    if isinstance(column, Chosen):
        return {"name": column.name, "role": "chosen", "mechanism": column.mechanism}
    if isinstance(column, Key):
        return {"name": column.name, "role": "key"}
    described: dict[str, Any] = {"name": column.name, "role": "value", "mechanism": column.mechanism}
    described["scale"] = [{"measure": noise.measure, "scale": noise.scale} for noise in column.scale]
    if column.half_width is not None:
        described["half_width"] = number_above(column.half_width)
    return described


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
