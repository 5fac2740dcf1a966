"""Where data come from: files, DuckDB tables, Arrow, pandas and polars, each as something one connection can read.

Nothing here is guessed from values: each kind of source has one reader, which the schema alone tells how to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.engines.duckdb.sources.arrow_files import SUFFIXES, arrow_file
from dither.engines.duckdb.sources.csv_files import DELIMITERS, Records, header
from dither.engines.duckdb.sources.files import File, expand
from dither.engines.duckdb.sources.frames import arrow_reader, instant, is_frame
from dither.engines.duckdb.sources.pandas import UNTYPED
from dither.engines.duckdb.sources.parquet import parts, schemas
from dither.engines.duckdb.sources.relations import database_table, exportable
from dither.engines.duckdb.sources.spelling import present, refuse_duplicates
from dither.engines.duckdb.sources.tally import Tally
from dither.errors import ColumnMissing, PolicyError
from dither.policy.columns import Column
from dither.policy.names import meant

if TYPE_CHECKING:
    import duckdb

_KINDS = (
    "a path to Parquet, CSV or Arrow, a (DuckDB file, table) or (connection, table) pair, a DuckDB relation, an Arrow "
    "table, dataset or record batch reader, or a pandas or polars frame"
)
_CSV = (".csv", ".csv.gz", ".tsv")
_PARQUET = (".parquet", ".parq", ".pq")


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
    """Something to select from on the loading connection: its SQL, and the name and type of each column.

    `sql` is what its SQL calls a column, `untyped` are those whose type says nothing about their values.
    """

    relation: str
    types: dict[str, str]
    sql: dict[str, str]
    tally: Tally
    untyped: frozenset[str] = frozenset()
    csv: bool = False

    def column(self, wanted: str) -> str:
        """The source's own spelling of a column; like SQL, a name is matched without regard to case if need be."""
        if wanted in self.types:
            return wanted
        alike = [name for name in self.types if name.lower() == wanted.lower()]
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise PolicyError(f"the source has several columns that {wanted!r} may mean: {', '.join(alike)}.")
        found = likely_delimiter(list(self.types)) if self.csv else None
        raise ColumnMissing(wanted, list(self.types), hint=meant(wanted, self.types), delimiter=found)


def open_sources(connection: duckdb.DuckDBPyConnection, source: Any, wanted: Sequence[str]) -> list[Source]:
    """Make the source readable on this connection, in parts of one schema each; `wanted` are the only columns that need
    to be."""
    import duckdb

    if isinstance(source, Delimited):
        return [_csv(connection, expand(str(source.path)), wanted, source.delimiter)]
    if isinstance(source, (str, Path)):
        found = expand(str(source))
        if _all_end(found, _CSV):
            return [_csv(connection, found, wanted)]
        if _is_arrow(found):
            return [_arrow(connection, arrow_file(found[0]), wanted)]
        return _parquet(connection, str(source), found, wanted)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str):
        place, table = source
        if isinstance(place, duckdb.DuckDBPyConnection):
            source = place.cursor().table(table)
        else:
            source = database_table(Path(place), table)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return [_arrow(connection, exportable(source, wanted), wanted)]
    if is_frame(source):
        return [_arrow(connection, source, wanted)]
    raise PolicyError(f"cannot read a table from {type(source).__name__}; give {_KINDS}.")


def schema_of(path: Path, delimiter: str | None = None) -> dict[str, str | None]:
    """The names and types of the columns of Parquet or CSV files, from what they say of themselves: no value is read.

    CSV says nothing about types.
    """
    import duckdb

    found = expand(str(path))
    if delimiter is not None or _all_end(found, _CSV):
        return dict.fromkeys(filter(None, _header(found, delimiter)))
    types: dict[str, str | None] = {}
    arrow = [arrow_file(found[0]).schema] if _is_arrow(found) else None
    with duckdb.connect(":memory:") as connection:
        for schema in arrow or schemas(str(path), _parquet_files(str(path), found)).values():
            connection.register("schema", schema.empty_table())
            types = {**_types(connection, "schema"), **types}
    return types


def check_columns(source: Path | Delimited, wanted: Sequence[str]) -> None:
    """Refuses files that cannot be read, or that lack one of these columns; no value is read."""
    if isinstance(source, Delimited):
        types = schema_of(Path(source.path), source.delimiter)
    else:
        types = schema_of(source)
    found = Source(
        "", {name: kind or "VARCHAR" for name, kind in types.items()}, {}, Tally(), csv=None in types.values()
    )
    for name in wanted:
        found.column(name)


def source_names(columns: Mapping[str, Column]) -> list[str]:
    """What the source calls the declared columns."""
    return [column.source or name for name, column in columns.items()]


def likely_delimiter(header: Sequence[str]) -> str | None:
    """What seems to separate the fields of CSV whose first line has no comma in it."""
    if len(header) != 1:
        return None
    return max((mark for mark in DELIMITERS if mark in header[0]), key=header[0].count, default=None)


def _is_arrow(files: Sequence[File]) -> bool:
    return len(files) == 1 and _all_end(files, SUFFIXES)


def _all_end(files: Sequence[File], suffixes: tuple[str, ...]) -> bool:
    return all(file.name.lower().endswith(suffixes) for file in files)


def _csv(
    connection: duckdb.DuckDBPyConnection, found: list[File], wanted: Sequence[str], delimiter: str | None = None
) -> Source:
    names = _header(found, delimiter)
    if not any(names):
        raise PolicyError("the first line of a CSV file must name its columns.")
    records = Records(found, names, delimiter or _usual_delimiter(found[0]))
    own = present([name for name in names if name], wanted)  # nobody can ask for a column without a name
    refuse_duplicates([name.lower() for name in own])
    sql = {name: f"c{names.index(name)}" for name in own}
    relation = _register(connection, records.reader([names.index(name) for name in own]))
    return Source(relation, dict.fromkeys(own, "VARCHAR"), sql, records.tally, frozenset(own), csv=True)


def _header(found: list[File], delimiter: str | None) -> list[str]:
    headers = {tuple(header(file, delimiter or _usual_delimiter(file))) for file in found}
    if len(headers) != 1:
        raise PolicyError("the CSV files have different headers; load files of one kind together.")
    return list(headers.pop())


def _usual_delimiter(file: File) -> str:
    return "\t" if file.name.lower().endswith(".tsv") else ","


def _parquet_files(path: str, found: list[File]) -> list[File]:
    if not _all_end(found, _PARQUET):
        raise PolicyError(f"{path} is neither .parquet nor .csv; name a file, a folder or a pattern of one kind.")
    return found


def _parquet(
    connection: duckdb.DuckDBPyConnection, path: str, found: list[File], wanted: Sequence[str]
) -> list[Source]:
    known = schemas(path, _parquet_files(path, found))
    own = present(list(dict.fromkeys(name for schema in known.values() for name in schema.names)), wanted)
    if len(known) > 1 and len(set(map(str.lower, own))) < len(own):
        raise PolicyError(f"{path}: the files spell names of columns differently; rename them.")
    opened = [_arrow(connection, part, own) for part in parts(known, own)]
    for source in opened:
        for name in own:  # a column that only other files have is NULL here
            source.types.setdefault(name, "NULL")
            source.sql.setdefault(name, "CAST(NULL AS VARCHAR)")
    return opened


def _arrow(connection: duckdb.DuckDBPyConnection, source: Any, wanted: Sequence[str]) -> Source:
    tally = Tally()
    reader, own = arrow_reader(source, wanted, tally)
    relation = _register(connection, reader)
    kinds = [
        instant(field.type) or kind for field, kind in zip(own, _types(connection, relation).values(), strict=True)
    ]
    sql = {name: f"c{k}" for k, name in enumerate(own.names)}
    untyped = frozenset(field.name for field in own if UNTYPED in (field.metadata or {}))
    return Source(relation, dict(zip(own.names, kinds, strict=True)), sql, tally, untyped)


def _register(connection: duckdb.DuckDBPyConnection, reader: Any) -> str:
    (count,) = connection.execute("SELECT COUNT(*) FROM duckdb_views() WHERE NOT internal").fetchall()[0]
    name = f"source{count}"
    connection.register(name, reader)
    return name


def _types(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {row[0]: row[1] for row in rows}
