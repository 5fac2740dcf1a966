"""`dither register` and `dither refresh`: data into a protected snapshot, and what sanitising did to them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from dither.cli.accounts import shown
from dither.cli.columns import SYNTAX, columns
from dither.cli.common import Commands, add_engine, add_folder, add_json, command, open_curator, print_json
from dither.cli.progress import add_progress, progress_bar
from dither.errors import PolicyError
from dither.policy.catalog import EACH_ROW, HOME

if TYPE_CHECKING:
    from pathlib import Path

    from dither.engines.protocol import LoadReport

_REGISTER = """\
Load a Parquet or CSV file as a table. What its columns may hold is declared, never
learned from the data: bounds and labels are public, and answers have a row for each
label whether or not anybody has it. Records are sanitised one by one; the report of
that is exact, so it is for the curator and never for analysts.

With --policy, a TOML or YAML file declares people, budgets, caps and any number of
tables. What is there already and declared alike is kept; any difference is refused."""

_REGISTER_EXAMPLES = f"""\
  dither register clinic visits visits.parquet --people patients --owner patient_id \\
      --max-rows-per-owner 40 --column age=int:0:105 --column fee=fixed:0:500:2 \\
      --column "region=category:north,south default north" --column postcode=text
  dither register clinic drugs drugs.parquet --people patients \\
      --owner "visit -> visits.id" --max-rows-per-owner 99 --column visit=int:1:99999
  dither register clinic regions regions.csv --public --key code --column code=int:0:99
  dither register clinic --policy clinic.toml
  dither register clinic visits visits.parquet --engine postgres --dsn-env CLINIC_DSN ...

{SYNTAX}"""

_REFRESH = """\
Replace a table's data under the same declaration. The budget stays what it is: new
data about the same people do not bring a new budget."""

_KEEP = "These figures are exact: keep them from analysts."

_REFRESH_EXAMPLES = """\
  dither refresh clinic visits visits-2025.parquet"""


_NEEDED = ("table", "source", "people", "owner", "max_rows_per_owner")
_STRUCTURE = ("max_rows_per_owner_in", "max_values_per_owner")
_REST = ("each_row", "public", "max_rows", "key", "column", "columns", "delimiter", "engine", *_STRUCTURE)


def add_register(commands: Commands) -> None:
    parser = command(commands, "register", "load a table", description=_REGISTER, examples=_REGISTER_EXAMPLES)
    for action in _add_source(parser):
        action.required = False  # with --policy; nargs="?" could no longer stand behind a flag
    parser.add_argument(
        "--policy",
        type=_path,
        metavar="FILE",
        help="declare everything in a TOML or YAML file, instead of table, source and the other flags",
    )
    parser.add_argument("--people", help="whose privacy is protected, as named by init")
    parser.add_argument(
        "--owner",
        metavar="COLUMN",
        help='the column that says whose row it is, or "column -> table.key" to follow a foreign key',
    )
    parser.add_argument("--each-row", action="store_true", help="each row is its own owner")
    parser.add_argument("--public", action="store_true", help="the table tells about nobody: no people, no owner")
    parser.add_argument(
        "--max-rows-per-owner",
        type=int,
        metavar="K",
        help="rows kept of each owner; more rows keep more data, fewer rows need less noise",
    )
    for name, about in zip(
        _STRUCTURE,
        ("rows of one owner that have the same value of this column", "values of this column that one owner has"),
        strict=True,
    ):
        parser.add_argument(
            _flag(name),
            action="append",
            default=[],
            metavar="COLUMN=K",
            help=f"at most so many {about}; what is beyond is dropped, and answers need less noise",
        )
    parser.add_argument(
        "--max-rows",
        type=int,
        metavar="N",
        help="rows of the whole table; more are refused, and so are questions that could take too much",
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="COLUMN",
        help="no two rows of one owner (of a public table: no two rows) are the same here; several make up one key",
    )
    parser.add_argument("--column", action="append", default=[], metavar="NAME=KIND:...", help="declare a column")
    parser.add_argument("--columns", type=_path, metavar="FILE", help="declarations from a JSON file")
    engines = ("duckdb", "postgres", "live")
    add_engine(parser, "--engine", "the engine that holds the table (default duckdb); live copies nothing", engines)
    _add_rest(parser)
    parser.set_defaults(run=register, parser=parser)


def add_refresh(commands: Commands) -> None:
    parser = command(commands, "refresh", "replace a table's data", description=_REFRESH, examples=_REFRESH_EXAMPLES)
    _add_source(parser)
    _add_rest(parser)
    parser.set_defaults(run=refresh)


def register(arguments: argparse.Namespace) -> None:
    """Load a new table, or what a policy file declares, and print what sanitising did."""
    _check_flags(arguments)
    if arguments.policy is not None:
        _apply(arguments)
        return
    declared = columns(arguments.column, arguments.columns)
    if not declared:
        raise PolicyError(f"table {arguments.table!r} declares no columns; add --column age=int:0:105, say.")
    shared = {"columns": declared, "key": arguments.key, "strict": arguments.strict, "delimiter": _mark(arguments)}
    shared["max_rows"] = arguments.max_rows
    rows_in, values = (_numbers(arguments, name) for name in _STRUCTURE)
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        if arguments.public:
            report = curator.register_public(arguments.table, arguments.source, progress=bar, **shared)
        else:
            report = curator.register(
                arguments.table,
                arguments.source,
                people=arguments.people,
                owner=EACH_ROW if arguments.each_row else arguments.owner,
                max_rows_per_owner=arguments.max_rows_per_owner,
                max_rows_per_owner_in=rows_in,
                max_values_per_owner=values,
                engine=arguments.engine or HOME,
                progress=bar,
                **shared,
            )
    _print(report, arguments)


def _check_flags(arguments: argparse.Namespace) -> None:
    """A policy file says everything; otherwise each kind of table has its own flags."""
    stated = {name: getattr(arguments, name) for name in (*_NEEDED, *_REST)}
    given = {name for name, value in stated.items() if value is not None and value is not False and value != []}
    needed, unfit, with_ = [*_NEEDED], [], ""
    if arguments.policy is not None:
        needed, unfit, with_ = [], [*_NEEDED, *_REST], "--policy"
    elif arguments.public:
        needed, unfit, with_ = (
            ["table", "source", "key"],
            ["people", "owner", "max_rows_per_owner", "each_row", "engine", *_STRUCTURE],
            "--public",
        )
    elif arguments.each_row:
        needed, unfit, with_ = ["table", "source", "people"], ["owner"], "--each-row"
    wrong = [_flag(name) for name in unfit if name in given]
    if wrong:
        arguments.parser.error(f"{', '.join(wrong)} cannot be given with {with_}")
    missing = [_flag(name) for name in needed if name not in given]
    if missing:
        arguments.parser.error(f"the following arguments are required: {', '.join(missing)}")


def _numbers(arguments: argparse.Namespace, name: str) -> dict[str, int]:
    """What was stated of columns, as COLUMN=K."""
    found = {}
    for stated in getattr(arguments, name):
        column, _, number = stated.rpartition("=")
        if not (column and number.isascii() and number.isdigit() and len(number) < 10) or column in found:
            arguments.parser.error(f"{_flag(name)} takes COLUMN=K, such as day=1, once for each column; got {stated!r}")
        found[column] = int(number)
    return found


def _flag(name: str) -> str:
    return name if name in ("table", "source") else "--" + name.replace("_", "-")


def _apply(arguments: argparse.Namespace) -> None:
    from dither.curator.policy_files import check, read_policy

    plan = read_policy(arguments.policy)
    if not arguments.folder.exists():
        check(plan, [], {})  # refused before there is a folder
    with open_curator(arguments, create=True) as curator, progress_bar(arguments) as bar:
        applied = curator.apply(arguments.policy, strict=arguments.strict, progress=bar)
    if arguments.json:
        print_json(
            {
                "opened": [{"people": people, "analyst": analyst} for people, analyst in applied.opened],
                "loaded": [_document(name, report) for name, report in applied.loaded.items()],
                "kept": list(applied.kept),
            }
        )
        return
    for account in applied.opened:
        print(f"{shown(account)}: budget opened")
    for name in applied.kept:
        print(f"{name}: is registered like this already")
    for name, report in applied.loaded.items():
        print(f"{name}: {report}")
    if applied.loaded:
        print(_KEEP)


def refresh(arguments: argparse.Namespace) -> None:
    """Replace a table's data and print what sanitising did."""
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        report = curator.refresh(
            arguments.table, arguments.source, strict=arguments.strict, progress=bar, delimiter=_mark(arguments)
        )
    _print(report, arguments)


def _mark(arguments: argparse.Namespace) -> str | None:
    r"""The delimiter; \t is how a shell says a tab."""
    return "\t" if arguments.delimiter == r"\t" else arguments.delimiter


def _print(report: LoadReport, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json(_document(arguments.table, report))
    else:
        print(f"{arguments.table}: {report}\n{_KEEP}")


def _document(table: str, report: LoadReport) -> dict[str, object]:
    return {"table": table, **asdict(report), "warnings": list(report.warnings)}


def _add_source(parser: argparse.ArgumentParser) -> tuple[argparse.Action, argparse.Action]:
    add_folder(parser)
    table = parser.add_argument("table", help="the table's name in SQL")
    return table, parser.add_argument("source", type=_path, help="a .parquet, .csv, .csv.gz or .tsv file")


def _add_rest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delimiter", metavar="C", help="what separates the fields of a CSV file (default a comma)")
    parser.add_argument("--strict", action="store_true", help="refuse the data if any record does not fit")
    add_progress(parser)
    add_json(parser)


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)
