"""A whole answer as bytes, and back: what a server keeps and a client gets, with no digit lost.

It is an Arrow stream with one field for each array of the answer; all else is JSON in the metadata of its schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.answer.answer import Answer
from dither.answer.columns import Chosen, Key, NoiseScale, Numbers, Value
from dither.answer.privacy import read, written
from dither.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
_META = b"dither answer"
_VECTORS = ("values", "lower", "upper")


def to_bytes(answer: Answer) -> bytes:
    """The answer with everything that it says of itself."""
    import pyarrow as pa

    arrays: list[pa.Array] = []
    document = {
        "format": FORMAT,
        "columns": [_described(column, arrays) for column in answer.columns],
        "price": dict(answer.price),
        "guarantee": answer.guarantee,
        "confidence": str(answer.confidence),
        "notes": list(answer.notes),
        "charged": answer.charged,
        "complete": answer.complete,
        "covers": answer.covers,
        "limited": answer.limited,
        "bought": [written(guarantee) for guarantee in answer.bought],
    }
    table = pa.table(arrays, names=[str(place) for place in range(len(arrays))])
    table = table.replace_schema_metadata({_META: json.dumps(document)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(data: bytes) -> Answer:
    """The answer that `to_bytes` wrote."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(data).read_all()
        document = json.loads(table.schema.metadata[_META])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        raise ParameterError("this is no answer of dither's.") from None
    if document["format"] != FORMAT:
        raise ParameterError(f"the answer has format {document['format']}; this dither reads format {FORMAT}.")
    arrays = iter(column.combine_chunks() for column in table.columns)
    return Answer(
        tuple(_column(described, arrays) for described in document["columns"]),
        document["price"],
        document["guarantee"],
        Fraction(document["confidence"]),
        tuple(document["notes"]),
        document["charged"],
        document["complete"],
        document["covers"],
        document["limited"],
        tuple(map(read, document.get("bought", ()))),  # older ones do not say
    )


def _described(column: Key | Value, arrays: list[pa.Array]) -> dict[str, Any]:
    """What a column says of itself; its arrays are added to the others, in this order."""
    if isinstance(column, Key):
        arrays.append(column.values)
        chosen = {"mechanism": column.mechanism} if isinstance(column, Chosen) else {}
        return {"role": "chosen" if chosen else "key", "name": column.name, **chosen}
    vectors = {name: part for name in _VECTORS if (part := getattr(column, name)) is not None}
    arrays += [_written(part) for part in vectors.values()]
    return {
        "role": "value",
        "name": column.name,
        "vectors": {name: str(part.dtype) for name, part in vectors.items()},
        "decimals": column.decimals,
        "half_width": None if column.half_width is None else str(column.half_width),
        "mechanism": column.mechanism,
        "scale": [[one.measure, one.scale] for one in column.scale],
        "possible": None if column.possible is None else [_text(end) for end in column.possible],
        "additive": column.additive,
        "left_out": column.left_out,
        "selecting": column.selecting,
        "noise": None if column.noise is None else _described(column.noise, arrays),
    }


def _column(described: Mapping[str, Any], arrays: Iterator[pa.Array]) -> Key | Value:
    name = described["name"]
    if described["role"] == "key":
        return Key(name, next(arrays))
    if described["role"] == "chosen":
        return Chosen(name, next(arrays), described["mechanism"])
    vectors = {which: _read(next(arrays), kind) for which, kind in described["vectors"].items()}
    half_width, possible = described["half_width"], described["possible"]
    return Value(
        name,
        decimals=described["decimals"],
        half_width=None if half_width is None else Fraction(half_width),
        mechanism=described["mechanism"],
        scale=tuple(NoiseScale(measure, scale) for measure, scale in described["scale"]),
        possible=None if possible is None else (float(possible[0]), float(possible[1])),
        additive=described["additive"],
        left_out=described["left_out"],
        selecting=described["selecting"],
        noise=_noise(described["noise"], arrays),
        **vectors,
    )


def _noise(described: Mapping[str, Any] | None, arrays: Iterator[pa.Array]) -> Value | None:
    found = None if described is None else _column(described, arrays)
    if found is not None and not isinstance(found, Value):
        raise ParameterError("this is no answer of dither's.")
    return found


def _written(numbers: Numbers) -> pa.Array:
    """Numbers beyond 64 bits as their digits; an end without bound among them is the text of a float."""
    import pyarrow as pa

    if numbers.dtype == np.dtype(object):
        return pa.array(
            [_text(number) if isinstance(number, float) else str(number) for number in numbers], pa.string()
        )
    return pa.array(numbers)


def _read(array: pa.Array, kind: str) -> Numbers:
    if kind != "object":
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=kind)
    found = np.empty(len(array), dtype=object)
    found[:] = [float(text) if text.lstrip("-") in ("inf", "nan") else int(text) for text in array.to_pylist()]
    return found


def _text(number: float) -> str:
    return repr(float(number))
