"""An answer as JSON, rows with their intervals and what the analyst should know beside them, and as CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dither.answer.columns import Chosen, Key, Value
from dither.answer.coverage import lines
from dither.answer.text import price_line
from dither.escape import json_text, shortened, spreadsheet_cell
from dither.exact.digits import number_above

if TYPE_CHECKING:
    from dither.answer.answer import Answer


_LONGEST_LINE = 2000


def to_json(answer: Answer) -> str:
    """The answer as one JSON object. Whole numbers are numbers; decimals and dates are text, so no digit is lost."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in answer.to_dicts(intervals=True)]
    columns = [_column(column) for column in answer.columns]
    document = {"columns": columns, "rows": rows, "charged": answer.charged, **said(answer)}
    return json_text(document, allow_nan=False)


def said(answer: Answer) -> dict[str, Any]:
    """What has to travel with the numbers, wherever they go: price, guarantee, what intervals hold, and notes."""
    return {
        "price": dict(answer.price),
        "guarantee": answer.guarantee,
        "confidence": str(float(answer.confidence)),
        "intervals": answer.claim,
        "notes": [*lines(answer, always=True), *answer.notes],
    }


def csv_bytes(answer: Answer, intervals: bool = True, *, raw: bool = False) -> bytes:
    """The rows as CSV, quoted where needed; with intervals, under lines that begin with # and say what these hold.

    Texts are no formulas and hold nothing invisible. If raw, texts are as they are, and there are no lines above.
    """
    from pyarrow import BufferOutputStream, csv

    table, sink = answer.to_arrow(intervals), BufferOutputStream()
    if not raw:
        names = [spreadsheet_cell(name) for name in table.column_names]
        table = table.from_arrays([_harmless(column) for column in table.columns], names)
    if intervals and not raw:
        about = [price_line(answer), answer.claim, *lines(answer, always=True), *answer.notes]
        sink.write("".join(f"# {shortened(line, _LONGEST_LINE)}\n" for line in about).encode())
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
    if column.uninformative().any():
        described["no_information"] = column.uninformative().nonzero()[0].tolist()  # rows, by number
    if column.noise is not None:
        described["left_out"] = column.left_out
        if column.noise.half_width is not None:
            described["noise_half_width"] = number_above(column.noise.half_width)
    return described


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
