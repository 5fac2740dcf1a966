"""An answer as bytes: an Arrow IPC stream whose schema carries the price, guarantee and errors as versioned JSON.

The same answer always gives the same bytes. A version this code does not know is refused; nothing is unpickled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.answer import numbers
from dither.answer.columns import Chosen, Key, NoiseScale, Value
from dither.digits import counted
from dither.errors import DitherError, ParameterError

if TYPE_CHECKING:
    from dither.answer.answer import Answer

VERSION = 2  # 1 had scales as text, in units of their own
_READ = (1, 2)
_METADATA = b"dither.answer"


class UnreadableAnswer(DitherError):
    """Stored bytes are not an answer, or are of a version this code does not know."""


def to_bytes(answer: Answer) -> bytes:
    """The answer as a self-contained Arrow IPC stream."""
    import pyarrow as pa

    arrays: list[Any] = []
    described = [_describe(column, arrays) for column in answer.columns]
    metadata = {
        "version": VERSION,
        "columns": described,
        "price": dict(answer.price),
        "guarantee": answer.guarantee,
        "confidence": str(answer.confidence),
        "notes": list(answer.notes),
        **({} if answer.complete else {"complete": False}),
    }
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    fields = [pa.field(f"c{place}", array.type) for place, array in enumerate(arrays)]
    schema = pa.schema(fields, metadata={_METADATA: text.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(answer: type[Answer], stored: bytes, names: Sequence[str] | None = None) -> Answer:
    """Read an answer back; `names` gives its columns new names, in SELECT order."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(stored) as stream:
            metadata = json.loads((stream.schema.metadata or {})[_METADATA])
            _check_version(metadata)
            batch = stream.read_next_batch()
        if names is not None and len(names) != len(metadata["columns"]):
            raise ParameterError(
                f"got {counted(len(names), 'name')} for {counted(len(metadata['columns']), 'column')}."
            )
        described = metadata["columns"]
        shown = [column["name"] for column in described] if names is None else list(names)
        return answer(
            tuple(_column(name, column, batch) for name, column in zip(shown, described, strict=True)),
            price=metadata["price"],
            guarantee=metadata["guarantee"],
            confidence=Fraction(metadata["confidence"]),
            notes=tuple(metadata["notes"]),
            complete=metadata.get("complete", True),
        )
    except (
        pa.ArrowException,
        OSError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        StopIteration,
        RecursionError,
    ) as error:
        if isinstance(error, DitherError):
            raise
        raise UnreadableAnswer("these bytes are not a stored answer; they were cut or changed.") from None


def _check_version(metadata: Mapping[str, Any]) -> None:
    if metadata["version"] not in _READ:
        raise UnreadableAnswer(
            f"this answer is stored in format {metadata['version']}, and this dither reads format {VERSION}; "
            "use the version that wrote it, or a newer one."
        )


def _describe(column: Key | Value, arrays: list[Any]) -> dict[str, Any]:
    """The column's metadata; its Arrow arrays are appended to `arrays` and named by their place there."""
    place = len(arrays)
    if isinstance(column, Key):
        arrays.append(column.values)
        chosen = {"role": "chosen", "mechanism": column.mechanism} if isinstance(column, Chosen) else {"role": "key"}
        return {**chosen, "name": column.name, "at": place}
    described: dict[str, Any] = {"role": "value", "name": column.name, "at": place, "decimals": column.decimals}
    described |= {"mechanism": column.mechanism, "scale": [[noise.measure, noise.scale] for noise in column.scale]}
    if column.possible is not None:
        described["possible"] = [end if math.isfinite(end) else None for end in column.possible]
    if column.additive:
        described["additive"] = True
    described["half_width"] = None if column.half_width is None else str(column.half_width)
    arrays.append(numbers.to_arrow(column.values, column.decimals))
    if column.lower is not None and column.upper is not None:
        described["bounds"] = [place + 1, place + 2]
        arrays.extend(numbers.to_arrow(bound, column.decimals) for bound in (column.lower, column.upper))
    return described


def _possible(ends: Sequence[float | None]) -> tuple[float, float]:
    low, high = ends
    return -math.inf if low is None else low, math.inf if high is None else high


def _column(name: str, described: Mapping[str, Any], batch: Any) -> Key | Value:
    values = batch.column(described["at"])
    if described["role"] == "key":
        return Key(name, values)
    if described["role"] == "chosen":
        return Chosen(name, values, described["mechanism"])
    decimals, half_width = described["decimals"], described["half_width"]
    scales = described["scale"]
    lower = upper = None
    if "bounds" in described:
        lower, upper = (numbers.from_arrow(batch.column(at)) for at in described["bounds"])
    return Value(
        name,
        numbers.from_arrow(values),
        decimals=decimals,
        half_width=None if half_width is None else Fraction(half_width),
        lower=lower,
        upper=upper,
        mechanism=described["mechanism"],
        scale=() if isinstance(scales, str) else tuple(NoiseScale(measure, scale) for measure, scale in scales),
        possible=_possible(described["possible"]) if "possible" in described else None,
        additive=described.get("additive", False),
    )
