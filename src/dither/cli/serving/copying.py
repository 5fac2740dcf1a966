"""`dither ledger copy`: a ledger moves from its folder into PostgreSQL, or back."""

from __future__ import annotations

import argparse

from dither.cli.common import Commands, add_folder, add_json, command, print_json

_COPY = """\
Copy a ledger from its folder into a PostgreSQL database, or from there into the folder
(--to folder), with what a server keeps beside it. Everything is proven at both ends. The
old one is closed for good: there are never two that can be charged. If it is cut short,
nothing is served until the same command is given again. Stop servers first."""

COPY_EXAMPLES = """\
  dither ledger copy clinic --to postgresql://db.internal/clinic
  dither ledger copy clinic --to folder"""


def add_copy(actions: Commands) -> None:
    parser = command(actions, "copy", "move it to PostgreSQL, or back", description=_COPY, examples=COPY_EXAMPLES)
    add_folder(parser)
    parser.add_argument("--to", required=True, metavar="ADDRESS", help="postgresql://HOST/DATABASE, or folder")
    add_json(parser)
    parser.set_defaults(run=copy)


def copy(arguments: argparse.Namespace) -> None:
    """Print how many entries were copied and proven."""
    from dither.ledger.moving import move
    from dither.server.database import copy_beside

    anchor = {"anchor": arguments.anchor, "weak_anchor": arguments.weak_anchor}
    entries = move(arguments.folder, arguments.to, **anchor, beside=copy_beside)
    if arguments.json:
        print_json({"entries": entries})
    else:
        print(f"{entries:,} entries are copied and intact; from now on {arguments.folder} uses them there.")
