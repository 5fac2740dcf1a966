"""Where data come from: files, DuckDB tables, Arrow, pandas and polars, each as something one connection can read.

Nothing here is guessed from values: CSV is read as text with a fixed dialect, and a pandas column of Python objects as
the text of each object, so that how one record is read never depends on another.
"""

from __future__ import annotations

import csv
import glob
import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.columns import Column
from dither.engines.frames import arrow_reader, is_frame
from dither.engines.newlines import one_form
from dither.engines.sanitise import quoted
from dither.errors import PolicyError
from dither.sql.names import meant

if TYPE_CHECKING:
    import duckdb

_KINDS = (
    "a path to Parquet or CSV, a (DuckDB file, table) or (connection, table) pair, a DuckDB relation, an Arrow table, "
    "dataset or record batch reader, or a pandas or polars frame"
)
_CSV = (".csv", ".csv.gz", ".tsv")
_DIALECT = "header=true, auto_detect=false, quote='\"', escape='\"', nullstr='', store_rejects=true"
_DELIMITERS = (";", "\t", "|")  # what a first line without commas may be separated by


@dataclass(frozen=True)
class Delimited:
    """CSV files whose fields are separated by another character than a comma."""

    path: str | Path
    delimiter: str

    def __post_init__(self) -> None:
        wrong = not isinstance(self.delimiter, str) or len(self.delimiter) != 1
        if wrong or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            raise PolicyError(f'a delimiter is one character, such as ";" or "\\t"; got {self.delimiter!r}.')
        if not isinstance(self.path, (str, Path)) or not str(self.path).lower().endswith(_CSV):
            raise PolicyError("a delimiter is for .csv and .tsv files; leave delimiter= out for any other source.")


def delimited(source: Any, delimiter: str | None) -> Any:
    """The source, read with this delimiter if one is stated."""
    return source if delimiter is None else Delimited(source, delimiter)


@dataclass(frozen=True)
class Source:
    """Something to select from on the loading connection: its SQL, and the name and type of each column."""

    relation: str
    types: dict[str, str]
    csv: bool = False  # columns have no types, and lines that are no records are counted by the reader
    parquet: bool = False
    utf8: bool = True

    def column(self, wanted: str) -> str:
        """The source's own spelling of a column; like SQL, a name is matched without regard to case if need be."""
        if wanted in self.types:
            return wanted
        alike = [name for name in self.types if name.lower() == wanted.lower()]
        if len(alike) == 1:
            return alike[0]
        hint = meant(wanted, self.types)
        found = likely_delimiter(list(self.types)) if self.csv else None
        if found is not None:
            hint = f"Its fields look separated by {found!r}: state delimiter={found!r}."
        raise PolicyError(
            f"the source has no column {wanted!r}; it has: {', '.join(self.types) or 'none'}. {hint}".rstrip()
        )


def open_source(connection: duckdb.DuckDBPyConnection, source: Any, wanted: Sequence[str], work: Path) -> Source:
    """Make the source readable on this connection. `wanted` are the only columns that need to be; `work` is a folder
    for copies that do not outlive the load."""
    import duckdb

    if isinstance(source, Delimited):
        return _csv(_expand(str(source.path)), work, source.delimiter)
    if isinstance(source, (str, Path)):
        return _files(connection, str(source), work)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        place, table = source
        if isinstance(place, duckdb.DuckDBPyConnection):
            return _arrow(connection, place.cursor().table(table), wanted)
        return _duckdb_file(connection, Path(place), table)
    if isinstance(source, duckdb.DuckDBPyRelation) or is_frame(source):
        return _arrow(connection, source, wanted)
    raise PolicyError(f"cannot read a table from {type(source).__name__}; give {_KINDS}.")


def schema_of(path: Path, delimiter: str | None = None) -> dict[str, str | None]:
    """The names and types of the columns of Parquet or CSV files, from what they say of themselves: no value is read.

    CSV says nothing about types.
    """
    import duckdb

    found = _expand(str(path))
    if delimiter is not None or all(name.lower().endswith(_CSV) for name in found):
        return dict.fromkeys(_header(found[0], delimiter))
    with duckdb.connect(":memory:") as connection:
        return dict(_parquet(connection, str(path), found).types)


def check_columns(source: Path | Delimited, wanted: Sequence[str]) -> None:
    """Refuses files that cannot be read, or that lack one of these columns; no value is read."""
    if isinstance(source, Delimited):
        types = schema_of(Path(source.path), source.delimiter)
    else:
        types = schema_of(source)
    found = Source("", {name: kind or "VARCHAR" for name, kind in types.items()}, csv=None in types.values())
    for name in wanted:
        found.column(name)


def source_names(columns: Mapping[str, Column]) -> list[str]:
    """What the source calls the declared columns."""
    return [column.source or name for name, column in columns.items()]


def likely_delimiter(header: Sequence[str]) -> str | None:
    """What seems to separate the fields of CSV whose first line has no comma in it."""
    if len(header) != 1:
        return None
    return max((mark for mark in _DELIMITERS if mark in header[0]), key=header[0].count, default=None)


def _files(connection: duckdb.DuckDBPyConnection, path: str, work: Path) -> Source:
    found = _expand(path)
    if all(name.lower().endswith(_CSV) for name in found):
        return _csv(found, work)
    return _parquet(connection, path, found)


def _parquet(connection: duckdb.DuckDBPyConnection, path: str, found: list[str]) -> Source:
    if not all(name.lower().endswith((".parquet", ".parq", ".pq")) for name in found):
        raise PolicyError(f"{path} is neither .parquet nor .csv; name a file, a folder or a pattern of one kind.")
    listed = ", ".join(quoted(name, mark="'") for name in found)
    relation = f"read_parquet([{listed}], union_by_name=true)"
    try:
        return Source(relation, _types(connection, relation), parquet=True)
    except Exception:  # noqa: BLE001 - the engine's text may quote the file's content
        raise PolicyError(f"{path} cannot be read as Parquet; check that the file is complete.") from None


def _expand(path: str) -> list[str]:
    if Path(path).is_dir():
        path = str(Path(path) / "*.parquet")
    found = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not found or not all(Path(name).is_file() for name in found):
        raise PolicyError(f"there is no file {path}; check the path.")
    return found


def _csv(found: list[str], work: Path, delimiter: str | None = None) -> Source:
    headers = {tuple(_header(name, delimiter)) for name in found}
    if len(headers) != 1:
        raise PolicyError("the CSV files have different headers; load files of one kind together.")
    names = headers.pop()
    if len(set(map(str.lower, names))) != len(names) or not all(names):
        raise PolicyError("the first line of a CSV file must name its columns, each differently.")
    try:
        readable = [one_form(name, work / f"source{i}.csv") for i, name in enumerate(found)]
    except (OSError, EOFError, zlib.error):
        raise PolicyError(f"{found[0]} cannot be read to its end; check that the file is complete.") from None
    listed = ", ".join(quoted(name, mark="'") for name, _ in readable)
    columns = ", ".join(f"{quoted(name, mark=chr(39))}: 'VARCHAR'" for name in names)
    mark = quoted(delimiter or _usual_delimiter(found[0]), mark="'")
    relation = f"read_csv([{listed}], columns={{{columns}}}, delim={mark}, {_DIALECT})"
    return Source(relation, dict.fromkeys(names, "VARCHAR"), csv=True, utf8=all(utf8 for _, utf8 in readable))


def _usual_delimiter(name: str) -> str:
    return "\t" if name.lower().endswith(".tsv") else ","


def _header(name: str, delimiter: str | None = None) -> list[str]:
    opener: Any = gzip.open if name.endswith(".gz") else open
    try:
        # Lines after the header may hold anything; here they only share a buffer with it.
        with opener(name, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            names = next(csv.reader(lines, delimiter=delimiter or _usual_delimiter(name)), [])
        "".join(names).encode()
        return names
    except (csv.Error, UnicodeEncodeError, OSError):
        raise PolicyError(
            f"{name} cannot be read as CSV in UTF-8; convert it first, such as with iconv -f UTF-16 -t UTF-8, or -f "
            "LATIN1."
        ) from None


def _duckdb_file(connection: duckdb.DuckDBPyConnection, path: Path, table: str) -> Source:
    if not path.is_file():
        raise PolicyError(f"there is no file {path}; check the path.")
    try:
        connection.execute(f"ATTACH {quoted(str(path), mark=chr(39))} AS source (READ_ONLY)").fetchall()
    except Exception:  # noqa: BLE001 - the engine's text may quote the file's content
        raise PolicyError(f"{path} cannot be opened as a DuckDB database; close it elsewhere first.") from None
    known = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
    ).fetchall()
    for schema, name in known:
        if table.lower() in (name.lower(), f"{schema}.{name}".lower()):
            relation = f"source.{quoted(schema)}.{quoted(name)}"
            return Source(relation, _types(connection, relation))
    listed = ", ".join(sorted(name for _, name in known)) or "none"
    raise PolicyError(f"{path.name} has no table {table!r}; it has: {listed}.")


def _arrow(connection: duckdb.DuckDBPyConnection, source: Any, wanted: Sequence[str]) -> Source:
    reader = arrow_reader(source, wanted)
    connection.register("source", reader)
    return Source("source", _types(connection, "source"))


def parquet_by_arrow(connection: duckdb.DuckDBPyConnection, path: str, wanted: Sequence[str]) -> Source:
    """Parquet whose text is not all UTF-8: read with the text as bytes, so that only the bad values are lost."""
    from pyarrow import dataset

    return _arrow(connection, dataset.dataset(_expand(path), format="parquet"), wanted)


def _types(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {row[0]: row[1] for row in rows}
