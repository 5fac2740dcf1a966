"""Parquet files by one reader, each by its own schema: what another file says of a column changes nothing here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dither.engines.spelling import refuse_duplicates
from dither.errors import PolicyError


def schemas(path: str, files: Sequence[str]) -> dict[str, Any]:
    """The Arrow schema of each file."""
    import pyarrow as pa
    from pyarrow.fs import LocalFileSystem

    found, form = {}, _format()
    for name in files:
        try:
            found[name] = form.make_fragment(os.path.abspath(name), LocalFileSystem()).physical_schema
        except (pa.ArrowException, OSError, ValueError):  # the reader's text may quote the file's content
            raise PolicyError(f"{path} cannot be read as Parquet; check that the file is complete.") from None
        refuse_duplicates(found[name].names)
    return found


def groups(known: Mapping[str, Any], wanted: Sequence[str]) -> Iterator[Any]:
    """The files as datasets, in each of which the wanted columns have the same names and types."""
    import pyarrow as pa
    from pyarrow import dataset
    from pyarrow.fs import LocalFileSystem

    alike: dict[Any, list[str]] = {}
    for name, schema in known.items():
        own = pa.schema([(column, schema.field(column).type) for column in wanted if column in schema.names])
        alike.setdefault(own, []).append(name)
    for schema, files in alike.items():
        yield dataset.dataset(
            list(map(os.path.abspath, files)), schema=schema, format=_format(), filesystem=LocalFileSystem()
        )


def _format() -> Any:
    from pyarrow import dataset

    # Times of 96 bits are read in microseconds: as nanoseconds those before 1677 and after 2262 would wrap around.
    return dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
