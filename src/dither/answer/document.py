"""An answer as JSON, rows with their intervals and what the analyst should know beside them, and as CSV."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from dither.answer.columns import Chosen, Key, Value
from dither.digits import number_above

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
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def csv_bytes(answer: Answer, intervals: bool = True) -> bytes:
    """The rows as CSV, quoted where needed."""
    from pyarrow import BufferOutputStream, csv

    sink = BufferOutputStream()
    csv.write_csv(answer.to_arrow(intervals), sink, csv.WriteOptions(quoting_style="needed"))
    content: bytes = sink.getvalue().to_pybytes()
    return content


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
