"""In-memory tables and datasets as one Arrow stream of the wanted columns, in types that hold any value.

Bytes that should be text and are not UTF-8 become a mark, each value by itself, and a date or time is the whole number
that stands for it. How a column is read follows from the source's schema; no value takes part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import Any

from dither.engines.duckdb.snapshots.sanitising import NOT_TEXT
from dither.engines.duckdb.sources.pandas import from_pandas, is_pandas
from dither.engines.duckdb.sources.parquet import Part
from dither.engines.duckdb.sources.spelling import present, refuse_duplicates
from dither.engines.duckdb.sources.tally import Tally
from dither.errors import PolicyError

_BATCH = 122_880
_DECODED = 8_192  # records at a time whose texts are written out, each of which may be long
_FORMATS = ("parquet", "arrow", "feather")


def is_frame(source: Any) -> bool:
    """Whether `arrow_reader` can read it."""
    return hasattr(source, "__arrow_c_stream__") or is_pandas(source) or _is_dataset(source)


def arrow_reader(source: Any, wanted: Sequence[str], tally: Tally) -> tuple[Any, Any]:
    """A pyarrow RecordBatchReader over the wanted columns that the source has, in bounded memory, and their schema in
    the source. The reader calls them c0, c1 and so on, since the engine does not tell letter case apart."""
    import pyarrow as pa

    if is_pandas(source):
        source = from_pandas(source, wanted)
    if _is_polars(source):
        source = _from_polars(source, wanted)
    if _is_dataset(source):
        refuse_duplicates(source.schema.names)
        _check_dataset(source, present(source.schema.names, wanted))
        chosen = present(source.schema.names, wanted)
        source = source.scanner(columns=chosen, batch_size=_BATCH, batch_readahead=4, fragment_readahead=1).to_reader()
    try:
        taken = isinstance(source, (Part, pa.RecordBatchReader))
        reader = source if taken else pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        raise PolicyError(f"{type(source).__name__} cannot be read as a stream of Arrow record batches.") from None
    refuse_duplicates(reader.schema.names)
    chosen = [reader.schema.get_field_index(name) for name in present(reader.schema.names, wanted)]
    own = pa.schema([reader.schema.field(position) for position in chosen])
    schema = pa.schema([(f"c{k}", plain_type(field.type)) for k, field in enumerate(own)])

    def batches() -> Iterator[Any]:
        for batch in reader:
            columns = [_plain_inside(batch.column(position)) for position in chosen]
            for start in range(0, batch.num_rows, _DECODED):
                decoded = [_decoded(column.slice(start, _DECODED)) for column in columns]
                yield pa.record_batch(decoded, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, tally.counted(batches())), own


def instant(kind: Any) -> str | None:
    """What the whole numbers of a column of dates or times count, by the names in `sources.instants`."""
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return instant(kind.value_type)
    if types.is_timestamp(kind):
        return f"{'TIMESTAMP' if kind.tz is None else 'TIMESTAMPTZ'}[{kind.unit.upper()}]"
    return "DATE[DAY]" if types.is_date32(kind) else "DATE[MS]" if types.is_date64(kind) else None


def plain_type(kind: Any) -> Any:
    """The type that the engine reads: no dictionaries, no text that was never checked, no numbers that may not fit."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.UuidType):
        return plain_type(kind.storage_type)
    if types.is_date(kind) or types.is_timestamp(kind):
        return pa.int64()
    if types.is_decimal(kind):
        wide = types.is_decimal256(kind) or not 0 <= kind.scale < 38
        return pa.large_string() if wide else pa.decimal128(38, kind.scale)
    if kind.id in _text_types():
        return pa.large_string()
    return pa.float32() if types.is_float16(kind) else kind


def _text_types() -> dict[int, Any]:
    """Types whose values should be text, and the same bytes as the engine's type of bytes."""
    import pyarrow as pa

    bytes_of = {
        pa.binary(): pa.binary(),
        pa.string(): pa.binary(),
        pa.large_binary(): pa.large_binary(),
        pa.large_string(): pa.large_binary(),
        pa.binary_view(): pa.binary_view(),
        pa.string_view(): pa.binary_view(),
        pa.binary(1): None,
    }
    return {kind.id: plain for kind, plain in bytes_of.items()}


def _plain_inside(column: Any) -> Any:
    """The column, with a plain dictionary if it has one: once for all records that refer to it."""
    import pyarrow as pa
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return column
    return pa.DictionaryArray.from_arrays(column.indices, _plain(column.dictionary), safe=False)


def _decoded(column: Any) -> Any:
    from pyarrow import types

    return column.dictionary.take(column.indices) if types.is_dictionary(column.type) else _plain(column)


def _plain(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _plain(column.dictionary).take(column.indices)
    if types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(column))
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.UuidType):
        return _plain(column.storage)
    wanted = plain_type(kind)
    if types.is_date(kind) or types.is_timestamp(kind):
        return column.view(pa.int32() if types.is_date32(kind) else pa.int64()).cast(wanted)
    if types.is_decimal128(kind) and types.is_decimal128(wanted):
        return _of_38_digits(column.view(wanted))
    if kind.id in (texts := _text_types()):
        plain = column if texts[kind.id] is None else column.view(texts[kind.id])
        return _marked(plain.cast(pa.large_binary()))
    return column.cast(wanted)


def _of_38_digits(column: Any) -> Any:
    """Decimals that the engine can compute with: 128 bits hold a few that are larger, whatever their type says."""
    import pyarrow as pa
    import pyarrow.compute as pc

    most = pa.scalar(Decimal("9" * 38).scaleb(-column.type.scale, Context(prec=38)), column.type)
    least = pa.scalar(most.as_py().copy_negate(), column.type)
    column = pc.if_else(pc.greater(column, most), most, column)
    return pc.if_else(pc.less(column, least), least, column)


def _marked(column: Any) -> Any:
    """Bytes as text, with a mark instead of each value that is not UTF-8."""
    import pyarrow as pa

    text = column.view(pa.large_string())
    try:
        text.validate(full=True)
        return text
    except pa.ArrowInvalid:
        return pa.array([None if value is None else _one_marked(value) for value in column.to_pylist()], text.type)


def _one_marked(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return NOT_TEXT


def _is_polars(source: Any) -> bool:
    return type(source).__module__.startswith("polars.") and hasattr(source, "select")


def _from_polars(frame: Any, wanted: Sequence[str]) -> Any:
    """The wanted columns: whole numbers that Arrow has no room for as text, and no Python objects, of which polars
    would hand over the addresses."""
    import polars as pl

    chosen = frame.select(present(frame.columns, wanted))
    objects = [name for name, kind in chosen.schema.items() if kind == pl.Object]
    if objects:
        raise PolicyError(f"column {objects[0]!r} holds Python objects; cast it in the source.")
    wide = [name for name, kind in chosen.schema.items() if kind in (pl.Int128, pl.UInt128)]
    return chosen.with_columns(pl.col(wide).cast(pl.String))


def _is_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow.") and hasattr(source, "scanner")


def _check_dataset(source: Any, names: Sequence[str]) -> None:
    """Formats that hold types, and one type a column: Arrow guesses and splits CSV by its values, and converts what
    differs in a way that some values fail."""
    for fragment in source.get_fragments():
        kind = getattr(getattr(fragment, "format", None), "default_extname", None)
        if kind is None:  # in memory
            continue
        if kind not in _FORMATS:
            raise PolicyError("a dataset holds Parquet or Arrow files; give CSV files by their path.")
        own = fragment.physical_schema
        for name in names:
            if name in own.names and own.field(name).type != source.schema.field(name).type:
                raise PolicyError(
                    f"the files of the dataset have different types for column {name!r}; give the path of their "
                    "folder, so that each is read by its own."
                )
            if kind == "parquet" and name in own.names and _converted(own.field(name).type):
                raise PolicyError(
                    f"column {name!r} of the dataset has a dictionary whose values Arrow would convert; give the path "
                    "of its folder, or make it of int32."
                )


def _converted(kind: Any) -> bool:
    """Whether Arrow's reader of Parquet converts what it has read, which fails at text that is not UTF-8."""
    import pyarrow as pa
    from pyarrow import types

    return bool(types.is_dictionary(kind) and kind.index_type != pa.int32())
