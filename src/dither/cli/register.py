"""`dither register` and `dither refresh`: data into a protected snapshot, and what sanitising did to them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from dither.cli.columns import SYNTAX, columns
from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.progress import add_progress, progress_bar
from dither.errors import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

    from dither.engines.protocol import LoadReport

_REGISTER = """\
Load a Parquet or CSV file as a table. What its columns may hold is declared, never
learned from the data: bounds and labels are public, and answers have a row for each
label whether or not anybody has it. Records are sanitised one by one; the report of
that is exact, so it is for the curator and never for analysts."""

_REGISTER_EXAMPLES = f"""\
  dither register clinic visits visits.parquet --people patients --owner patient_id \\
      --max-rows-per-owner 40 --column age=int:0:105 --column fee=fixed:0:500:2 \\
      --column "region=category:north,south default north" --column postcode=text

{SYNTAX}"""

_REFRESH = """\
Replace a table's data under the same declaration. The budget stays what it is: new
data about the same people do not bring a new budget."""

_REFRESH_EXAMPLES = """\
  dither refresh clinic visits visits-2025.parquet"""


def add_register(commands: Commands) -> None:
    parser = command(commands, "register", "load a table", description=_REGISTER, examples=_REGISTER_EXAMPLES)
    _add_source(parser)
    parser.add_argument("--people", required=True, help="whose privacy is protected, as named by init")
    parser.add_argument("--owner", required=True, metavar="COLUMN", help="the column that says whose row it is")
    parser.add_argument(
        "--max-rows-per-owner",
        required=True,
        type=int,
        metavar="K",
        help="rows kept of each owner; more rows keep more data, fewer rows need less noise",
    )
    parser.add_argument("--column", action="append", default=[], metavar="NAME=KIND:...", help="declare a column")
    parser.add_argument("--columns", type=_path, metavar="FILE", help="declarations from a JSON file")
    _add_rest(parser)
    parser.set_defaults(run=register)


def add_refresh(commands: Commands) -> None:
    parser = command(commands, "refresh", "replace a table's data", description=_REFRESH, examples=_REFRESH_EXAMPLES)
    _add_source(parser)
    _add_rest(parser)
    parser.set_defaults(run=refresh)


def register(arguments: argparse.Namespace) -> None:
    """Load a new table and print what sanitising did."""
    declared = columns(arguments.column, arguments.columns)
    if not declared:
        raise PolicyError(f"table {arguments.table!r} declares no columns; add --column age=int:0:105, say.")
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        report = curator.register(
            arguments.table,
            arguments.source,
            people=arguments.people,
            owner=arguments.owner,
            max_rows_per_owner=arguments.max_rows_per_owner,
            columns=declared,
            strict=arguments.strict,
            progress=bar,
        )
    _print(report, arguments)


def refresh(arguments: argparse.Namespace) -> None:
    """Replace a table's data and print what sanitising did."""
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        report = curator.refresh(arguments.table, arguments.source, strict=arguments.strict, progress=bar)
    _print(report, arguments)


def _print(report: LoadReport, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"table": arguments.table, **asdict(report)})
    else:
        print(f"{arguments.table}: {report}\nThese figures are exact: keep them from analysts.")


def _add_source(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("table", help="the table's name in SQL")
    parser.add_argument("source", type=_path, help="a .parquet or .csv file")


def _add_rest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="refuse the data if any record does not fit")
    add_progress(parser)
    add_json(parser)


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)
