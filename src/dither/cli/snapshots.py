"""`dither snapshots`: what is stored of each table."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.serving.remote import remote_service

if TYPE_CHECKING:
    from dither.curator.officer.snapshots import Snapshot

_DESCRIPTION = """\
Show what is stored of each table: the number of its snapshot, on which engine, how large
and since when, as far as the engine tells. Sizes are exact, so this is for the curator
alone; at a server it takes a curator's token."""

_EXAMPLES = """\
  dither snapshots clinic
  dither snapshots clinic --json"""


def add(commands: Commands) -> None:
    parser = command(
        commands, "snapshots", "show what is stored of each table", description=_DESCRIPTION, examples=_EXAMPLES
    )
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the snapshots."""
    found = _found(arguments)
    if arguments.json:
        print_json([asdict(one) for one in found])
    else:
        print("\n".join(map(_text, found)) or "no tables are registered.")


def _found(arguments: argparse.Namespace) -> list[Snapshot]:
    if arguments.url is not None:
        return remote_service(arguments).snapshots()
    with open_curator(arguments) as curator:
        return curator.snapshots()


def _text(one: Snapshot) -> str:
    """
    >>> from dither.curator.officer.snapshots import Snapshot
    >>> _text(Snapshot("visits", "patients", 3, "duckdb", True, 1_048_576, 1_800_000_000))
    'visits (of patients): snapshot 3 on duckdb, 1,048,576 bytes, since 2027-01-15 08:00 UTC'
    """
    whose = "public" if one.people is None else f"of {one.people}"
    size = "" if one.bytes is None else f", {one.bytes:,} bytes"
    since = "" if one.since is None else f", since {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(one.since))}"
    missing = "" if one.there else ", is missing: dither refresh"
    return f"{one.table} ({whose}): snapshot {one.number} on {one.engine}{size}{since}{missing}"
