"""Arrow files: a stream of record batches, or a file with them, each batch checked whole before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dither.engines.duckdb.sources.files import File
from dither.errors import PolicyError

SUFFIXES = (".arrow", ".arrows", ".feather")
_MAGIC = b"ARROW1"


def arrow_file(file: File) -> Any:
    """A RecordBatchReader of the file; what it says of itself is proven, since it may come from anywhere."""
    import pyarrow as pa

    def batches(source: Any) -> Iterator[Any]:
        for batch in source:
            batch.validate(full=True)
            yield batch

    def opened() -> Iterator[Any]:
        with file.open() as binary:
            whole = binary.read(len(_MAGIC)) == _MAGIC
            binary.seek(0)
            try:
                found = pa.ipc.open_file(binary) if whole else pa.ipc.open_stream(binary)
                yield found.schema
                yield from batches(map(found.get_batch, range(found.num_record_batches)) if whole else found)
            except (pa.ArrowException, OSError, EOFError):
                raise PolicyError(f"{file.name} is no Arrow file, or is damaged.") from None

    parts = opened()
    return pa.RecordBatchReader.from_batches(next(parts), parts)
