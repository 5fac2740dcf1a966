"""`dither tables`, `schema`, `copy` and `drop`: what is declared, where it is, and forgetting a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dither.cli.common import Commands, add_engine, add_folder, add_json, command, open_curator, print_json
from dither.cli.progress import add_progress, progress_bar
from dither.cli.serving.remote import open_asker
from dither.exact.digits import counted
from dither.policy.names import quoted

if TYPE_CHECKING:
    from dither.policy.catalog import PublicTable, Table
    from dither.policy.columns import Column

_TABLES = """\
Show the declared tables: whose they are, how many rows of each owner count, and the
kind and bounds of each column. All of this is public; no data are read."""

_TABLES_EXAMPLES = """\
  dither tables clinic
  dither tables clinic --json"""

_DROP = """\
Forget a table and delete its protected snapshot. What was spent on it stays spent, and
the ledger keeps its entries."""

_DROP_EXAMPLES = """\
  dither drop clinic visits"""

_COPY = """\
Move a table's protected snapshot to another engine, with the tables that foreign keys
tie to it. Declarations, people, budgets and answers that were paid for stay as they are:
it is the same snapshot elsewhere. Public tables are wherever they are needed."""

_COPY_EXAMPLES = """\
  dither copy clinic visits --to postgres --dsn-env CLINIC_DSN
  dither copy clinic visits --to duckdb"""

_SCHEMA = """\
Show what may stand before the name of any table in a question, or set it. It is public
unless a name is given, here or in a policy file. Tables may always be named alone."""

_SCHEMA_EXAMPLES = """\
  dither schema clinic
  dither schema clinic records"""

_MOST_LABELS = 8


def add_tables(commands: Commands) -> None:
    parser = command(commands, "tables", "show the declared tables", description=_TABLES, examples=_TABLES_EXAMPLES)
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(run=tables)


def add_drop(commands: Commands) -> None:
    parser = command(commands, "drop", "forget a table", description=_DROP, examples=_DROP_EXAMPLES)
    add_folder(parser)
    parser.add_argument("table", help="the table's name")
    add_json(parser)
    parser.set_defaults(run=drop)


def add_copy(commands: Commands) -> None:
    parser = command(commands, "copy", "move a table to another engine", description=_COPY, examples=_COPY_EXAMPLES)
    add_folder(parser)
    parser.add_argument("table", help="the table's name")
    add_engine(parser, "--to", "the engine that will hold it", ("duckdb", "postgres"), required=True)
    add_progress(parser)
    add_json(parser)
    parser.set_defaults(run=copy)


def add_schema(commands: Commands) -> None:
    parser = command(commands, "schema", "show or set the schema", description=_SCHEMA, examples=_SCHEMA_EXAMPLES)
    add_folder(parser)
    parser.add_argument("name", nargs="?", help="what may stand before the name of any table")
    add_json(parser)
    parser.set_defaults(run=schema)


def schema(arguments: argparse.Namespace) -> None:
    """Print the schema, or set it."""
    with open_curator(arguments) as curator:
        name = curator.schema(arguments.name)
    if arguments.json:
        print_json({"schema": name})
    else:
        print(f"tables may be called {quoted(name)}.table.")


def tables(arguments: argparse.Namespace) -> None:
    """Print the declarations."""
    with open_asker(arguments) as asker:
        declared = asker.tables()
    if arguments.json:
        print_json([_document(table) for table in declared])
    else:
        print("\n\n".join(_text(table) for table in declared) or "no tables are registered.")


def drop(arguments: argparse.Namespace) -> None:
    """Forget a table."""
    with open_curator(arguments) as curator:
        curator.drop(arguments.table)
    if arguments.json:
        print_json({"dropped": arguments.table})
    else:
        print(f"{arguments.table} is dropped and its snapshot deleted; what was spent stays spent.")


def copy(arguments: argparse.Namespace) -> None:
    """Move a table, and say what went with it."""
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        moved = curator.copy(arguments.table, to=arguments.engine, progress=bar)
    if arguments.json:
        print_json({"moved": moved, "engine": arguments.engine})
    else:
        print(f"{', '.join(moved)}: on {arguments.engine} now; what was paid for stays paid for.")


def column_text(column: Column) -> str:
    """A declaration as `register --column` takes it, with long lists of labels cut.

    >>> from dither.policy.columns import Category, Int
    >>> column_text(Int(0, 105, nullable=False, default=0)), column_text(Category(["north", "south"]))
    ('int:0:105 default 0', 'category:north,south')
    """
    stated: dict[str, Any] = column.declaration()
    default = "" if column.nullable else f" default {_plain(stated['default'])}"
    source = "" if column.source is None else f"  (from {column.source})"
    return column.kind + _arguments(column, stated) + default + source


def _arguments(column: Column, stated: dict[str, Any]) -> str:
    if column.kind == "category":
        labels = stated["values"]
        more = f",... ({len(labels):,} labels)" if len(labels) > _MOST_LABELS else ""
        return ":" + ",".join(labels[:_MOST_LABELS]) + more
    parts = [str(stated[name]) for name in (*column.stated, *column.optional)]
    return f":{column.separator.join(parts)}" if parts else ""


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(table: Table | PublicTable) -> str:
    width = max(map(len, table.columns))
    most = "" if table.max_rows is None else f", at most {counted(table.max_rows, 'row')} in all"
    lines = [f"{table.name}: {_whose(table)}{most}{_key(table)}"]
    lines += [f"  {name:{width}}  {column_text(column)}" for name, column in table.columns.items()]
    return "\n".join(lines)


def _whose(table: Table | PublicTable) -> str:
    from dither.policy.catalog import HOME, PublicTable

    if isinstance(table, PublicTable):
        return f"public, {counted(table.shape.rows, 'row')}" if table.shape.rows else "public"
    on = "" if table.engine == HOME else f", on {table.engine}"
    if table.row_level:
        return f"of {table.people}, each row its own owner{on}"
    rows = "1 row" if table.max_rows_per_owner == 1 else f"{table.max_rows_per_owner:,} rows"
    by = f" by {table.via}" if table.via else ""
    structure = f", {table.structure}" if table.structure else ""
    return f"of {table.people}, owner {table.owner}{by}, at most {rows} of each owner{structure}{on}"


def _key(table: Table | PublicTable) -> str:
    return f", key {', '.join(table.key)}" if table.key else ""


def _document(table: Table | PublicTable) -> dict[str, object]:
    from dither.policy.catalog import PublicTable

    columns = {name: column.declaration() for name, column in table.columns.items()}
    if isinstance(table, PublicTable):
        most = {"max_rows": table.max_rows, "rows": table.shape.rows or None}
        return {"table": table.name, "public": True, **most, "key": list(table.key), "columns": columns}
    return {
        "table": table.name,
        "public": False,
        "people": table.people,
        "owner": table.owner or None,
        "foreign_key": str(table.via) if table.via else None,
        "each_row": table.row_level,
        "max_rows_per_owner": table.max_rows_per_owner,
        "max_rows_per_owner_in": dict(table.structure.rows_in),
        "max_values_per_owner": dict(table.structure.values),
        "max_rows": table.max_rows,
        "key": list(table.key),
        "engine": table.engine,
        "columns": columns,
    }
