"""In-memory tables as one Arrow stream of the wanted columns, with text as bytes until it is proven to be UTF-8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dither.errors import PolicyError

_BATCH = 122_880


def is_frame(source: Any) -> bool:
    """Whether `arrow_reader` can read it."""
    return hasattr(source, "__arrow_c_stream__") or _is_pandas(source) or _is_dataset(source)


def arrow_reader(source: Any, wanted: Sequence[str]) -> Any:
    """A pyarrow RecordBatchReader over the wanted columns that the source has, in bounded memory.

    Strings become binary: an invalid one would make the engine fail instead of becoming NULL.
    """
    import pyarrow as pa

    if _is_pandas(source):
        source = _from_pandas(source, wanted)
    if _is_dataset(source):
        source = source.scanner(columns=_present(source.schema.names, wanted), batch_size=_BATCH).to_reader()
    try:
        reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        raise PolicyError(f"{type(source).__name__} cannot be read as a stream of Arrow record batches.") from None
    names = _present(reader.schema.names, wanted)
    schema = pa.schema([(name, _plain_type(reader.schema.field(name).type)) for name in names])

    def batches() -> Iterator[Any]:
        for batch in reader:
            columns = [_plain(batch.column(name)) for name in names]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _present(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The source's own spelling of the wanted columns; all names if one is missing, so that an error can list them."""
    lowered = {name.lower() for name in wanted}
    found = [name for name in names if name.lower() in lowered]
    return found if {name.lower() for name in found} == lowered else list(names)


def _plain_type(kind: Any) -> Any:
    """The type that the engine reads: no dictionaries, no text that was never checked, no exotic numbers."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_decimal256(kind):
        return pa.large_binary()
    return pa.float32() if types.is_float16(kind) else kind


def _plain(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_decimal256(kind):
        column = column.cast(pa.large_string())
    elif types.is_string_view(kind):
        column = column.view(pa.binary_view())
    elif types.is_string(kind):
        column = column.view(pa.binary())
    elif types.is_large_string(kind):
        column = column.view(pa.large_binary())
    return column.cast(_plain_type(kind))


def _is_pandas(source: Any) -> bool:
    return (
        type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "dtypes") and hasattr(source, "columns")
    )


def _is_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow.") and hasattr(source, "scanner")


def _from_pandas(frame: Any, wanted: Sequence[str]) -> Any:
    import pyarrow as pa

    names = _present([str(name) for name in frame.columns], wanted)
    positions = {str(name): position for position, name in enumerate(frame.columns)}
    return pa.table({name: _series(frame.iloc[:, positions[name]]) for name in names})


def _series(series: Any) -> Any:
    import pyarrow as pa

    if str(series.dtype) != "object":
        try:
            return pa.array(series, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            pass  # categories of mixed kinds: by their text, like any objects
    missing = series.isna().to_numpy()
    texts = (None if gone else _bytes(value) for value, gone in zip(series, missing, strict=True))
    return pa.array(texts, pa.large_binary())


def _bytes(value: Any) -> bytes | None:
    """An object's text. What cannot even be written as text is no value."""
    if isinstance(value, bytes):
        return value
    try:
        return str(value).encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - __str__ of a foreign object
        return None
