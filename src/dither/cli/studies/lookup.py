"""`dither publish` and `dither lookup`: read one cell of a release, and nobody learns which."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dither.cli.common import Commands, add_json, command, print_json
from dither.cli.studies.addresses import add_listening, listening
from dither.errors import ParameterError
from dither.lazy import missing_extra

_PUBLISH = """\
Make a database for private look-ups of a released answer (CSV or Parquet, as `dither
query` writes them). The release is public; which of its cells somebody reads is not."""

_LOOKUP = """\
Read one cell of a published release. With two servers that do not talk to each other
neither learns anything; one server alone learns nothing as long as learning with
errors is hard."""

_EXAMPLES = """\
  dither query clinic "SELECT region, month, COUNT(*) AS n ..." --epsilon 1 --csv > visits.csv
  dither publish visits.csv cells --value n
  dither lookup serve cells --port 8101
  dither lookup get http://127.0.0.1:8101 http://127.0.0.1:8102 region=north month=3"""


def add_publish(commands: Commands) -> None:
    parser = command(commands, "publish", "make a release ready for look-ups", description=_PUBLISH, examples=_EXAMPLES)
    parser.add_argument("answer", type=Path, help="a released answer, .csv or .parquet")
    parser.add_argument("folder", type=Path, help="where the database is written")
    parser.add_argument("--value", action="append", required=True, metavar="COLUMN", help="a column to be read")
    add_json(parser)
    parser.set_defaults(run=publish)


def add_lookup(commands: Commands) -> None:
    lookup = command(commands, "lookup", "read a cell that nobody learns", description=_LOOKUP, examples=_EXAMPLES)
    lookup.set_defaults(run=lambda _: lookup.print_help())
    actions = lookup.add_subparsers(title="actions", metavar="ACTION")
    serve = command(actions, "serve", "serve a published release", description=_LOOKUP, examples=_EXAMPLES)
    serve.add_argument("folder", type=Path, help="as `dither publish` has written it")
    add_listening(serve)
    serve.set_defaults(run=run_server)
    get = command(actions, "get", "read one cell", description=_LOOKUP, examples=_EXAMPLES)
    get.add_argument("words", nargs="+", metavar="URL or KEY=VALUE", help="one or two servers, and the cell's keys")
    get.add_argument("--digest", help="of the release, as `dither publish` has printed it")
    add_json(get)
    get.set_defaults(run=get_cell)


def publish(arguments: argparse.Namespace) -> None:
    from dither.lookup import publish

    cells = publish(_columns(arguments.answer, arguments.value), arguments.value, arguments.folder)
    if arguments.json:
        print_json({"cells": cells.count, "digest": cells.digest})
    else:
        print(f"{cells.count:,} cells of {cells.size} bytes, keys {', '.join(cells.keys)}; digest {cells.digest}")


def _columns(path: Path, values: list[str]) -> dict[str, list[Any]]:
    """The columns of an answer; an interval's ends are not keys, so they are left out unless they are read."""
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
    else:
        lines = [line for line in path.read_bytes().splitlines(keepends=True) if not line.startswith(b"#")]
        table = pyarrow.csv.read_csv(pyarrow.BufferReader(b"".join(lines)))
    kept = [name for name in table.column_names if name in values or not name.endswith(("_low", "_high"))]
    return {name: table[name].to_pylist() for name in kept}


def run_server(arguments: argparse.Namespace) -> None:
    try:
        from dither.lookup.service import run
    except ImportError as error:
        raise ParameterError(missing_extra("serving needs", "server", error)) from None
    run(listening(arguments), arguments.folder)


def get_cell(arguments: argparse.Namespace) -> None:
    from dither.lookup import Lookup

    urls = [word for word in arguments.words if word.startswith(("http://", "https://"))]
    pairs = dict(word.split("=", 1) for word in arguments.words if word not in urls and "=" in word)
    lookup = Lookup(*urls, digest=arguments.digest)
    found = lookup.get(**{name: _typed(text, lookup.cells.keys.get(name, ())) for name, text in pairs.items()})
    if arguments.json:
        print_json(found)
    elif found is None:
        print("the release has no such row.")
    else:
        shown = {name: "has no value" if value is None else format(value, ",") for name, value in found.items()}
        print(", ".join(f"{name} {value}" for name, value in shown.items()))


def _typed(text: str, known: Any) -> Any:
    """A key as the release writes it."""
    return next((key for key in known if str(key) == text), text)
