"""DuckDB's own tables and queries, as relations whose columns another reader takes whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dither.engines.duckdb.snapshots.sanitising import family, quoted
from dither.engines.duckdb.sources.spelling import present, refuse_duplicates
from dither.errors import PolicyError

if TYPE_CHECKING:
    import duckdb

_LOCKED = ("enable_external_access = false", "lock_configuration = true")  # a view can name any file
# Types that Arrow has no room for, or none that every reader knows.
_AS_TEXT = {"HUGEINT", "UHUGEINT", "BIGNUM", "ENUM", "JSON", "UUID", "BIT"}


def exportable(relation: duckdb.DuckDBPyRelation, wanted: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """The wanted columns, those that Arrow cannot hold as text."""
    refuse_duplicates(relation.columns)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    chosen = [
        f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if family(types[name]) in _AS_TEXT else quoted(name)
        for name in present(relation.columns, wanted)
    ]
    return relation.project(", ".join(chosen))


def database_table(path: Path, table: str) -> duckdb.DuckDBPyRelation:
    """A table or view of a DuckDB file, which can read nothing but that file."""
    import duckdb

    if not path.is_file():
        raise PolicyError(f"there is no file {path}; check the path.")
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute(f"ATTACH {quoted(str(path), mark=chr(39))} AS source (TYPE duckdb, READ_ONLY)").fetchall()
    except Exception:  # noqa: BLE001 - the engine's text may quote the file's content
        raise PolicyError(f"{path} cannot be opened as a DuckDB database; close it elsewhere first.") from None
    for setting in ("TimeZone = 'UTC'", *_LOCKED):
        connection.execute(f"SET {setting}").fetchall()
    known = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
    ).fetchall()
    for schema, name in known:
        if table.lower() in (name.lower(), f"{schema}.{name}".lower()):
            try:
                return connection.sql(f"FROM source.{quoted(schema)}.{quoted(name)}")
            except Exception:  # noqa: BLE001 - the engine's text may quote the view
                raise PolicyError(
                    f"{name!r} of {path.name} cannot be read from that file alone; load what it reads."
                ) from None
    listed = ", ".join(sorted(name for _, name in known)) or "none"
    raise PolicyError(f"{path.name} has no table {table!r}; it has: {listed}.")
