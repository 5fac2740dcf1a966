"""Parquet files by one reader, each by its own schema: what another file says of a column changes nothing here.

The types are those that Parquet itself states. The Arrow schema that some writers leave beside them is passed over:
values would be converted to its types, and one that is not UTF-8 in a dictionary of text makes the whole file fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from dither.engines.duckdb.sources.files import File
from dither.engines.duckdb.sources.spelling import refuse_duplicates
from dither.errors import PolicyError

_BATCH = 8_192  # records, of which each text may be long
_MAGIC = b"PAR1"
_LENGTH = 4  # bytes, before the magic number at the end
_ARROW = b"ARROW:schema"
_VALUE = b"\x18"  # what follows such a name in the footer, and no name of a column


@dataclass(frozen=True)
class Part:
    """Files in which the wanted columns have the same names and types."""

    files: Sequence[File]
    schema: Any

    def __iter__(self) -> Iterator[Any]:
        """Their records, in batches."""
        import pyarrow as pa

        for one in self.files:
            with one.open() as file:
                for batch in _opened(file).iter_batches(_BATCH, columns=self.schema.names, use_threads=False):
                    columns = [batch.column(name) for name in self.schema.names]
                    yield pa.record_batch(columns, schema=self.schema)


def schemas(path: str, files: Sequence[File]) -> dict[File, Any]:
    """The schema of each file."""
    import pyarrow as pa

    found = {}
    for one in files:
        try:
            with one.open() as file:
                found[one] = _opened(file).schema_arrow
        except (pa.ArrowException, OSError, ValueError):  # the reader's text may quote the file's content
            raise PolicyError(f"{path} cannot be read as Parquet; check that the file is complete.") from None
        refuse_duplicates(found[one].names)
    return found


def parts(known: dict[File, Any], wanted: Sequence[str]) -> list[Part]:
    """The files, by the types of the wanted columns that they have."""
    import pyarrow as pa

    alike: dict[Any, list[File]] = {}
    for one, schema in known.items():
        own = pa.schema([(column, schema.field(column).type) for column in wanted if column in schema.names])
        alike.setdefault(own, []).append(one)
    return [Part(files, schema) for schema, files in alike.items()]


def _opened(file: BinaryIO) -> Any:
    from pyarrow import BufferReader, parquet

    plain = parquet.read_metadata(BufferReader(_footer(file)))
    if _ARROW in (plain.metadata or {}):
        raise ValueError
    # Times of 96 bits are read in microseconds: as nanoseconds those before 1677 and after 2262 would wrap around.
    return parquet.ParquetFile(
        file, metadata=plain, coerce_int96_timestamp_unit="us", pre_buffer=False, page_checksum_verification=True
    )


def _footer(file: BinaryIO) -> bytes:
    """The file's description of itself as a file of its own, in which the Arrow schema has another name."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _LENGTH - len(_MAGIC)))
    tail = file.read()
    length = int.from_bytes(tail[:_LENGTH], "little")
    if tail[_LENGTH:] != _MAGIC or length > end:
        raise ValueError
    file.seek(end - len(tail) - length)
    return _MAGIC + file.read(length).replace(_ARROW + _VALUE, _ARROW.swapcase() + _VALUE) + tail
