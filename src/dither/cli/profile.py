"""`dither profile`: spend a small share of the budget on what makes every later answer better."""

from __future__ import annotations

import argparse

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.serving.remote import open_asker
from dither.cli.usage import RemoteParser

_PROFILE = """\
Spend a share of the people's whole budget on noisy histograms of a table's owners: how
many rows they have and, of columns that are named, how large their values are. From then
on questions are planned by what these certify, at no further price. Asking again for the
same share, or for less, costs nothing."""

_EXAMPLES = """\
  dither profile clinic visits
  dither profile clinic visits --share 0.05 --column fee
  dither profile clinic visits --show"""


def add(commands: Commands) -> None:
    parser = command(commands, "profile", "make a private profile of a table", description=_PROFILE, examples=_EXAMPLES)
    add_folder(parser)
    parser.add_argument("--all", action="store_true", help="print every bin with its interval")
    parser.add_argument("table", help="the table's name")
    if isinstance(parser, RemoteParser):  # one is made by the curator
        add_json(parser)
        parser.set_defaults(run=profile, show=True)
        return
    parser.add_argument("--share", default="0.02", help="the share of the whole budget to spend (default 0.02)")
    parser.add_argument(
        "--column", action="append", metavar="NAME", help="a column of numbers; may be repeated (default: none)"
    )
    parser.add_argument("--show", action="store_true", help="show the profile that there is; nothing is spent")
    add_json(parser)
    parser.set_defaults(run=profile)


def profile(arguments: argparse.Namespace) -> None:
    """Make a profile, or show it."""
    if arguments.show:
        with open_asker(arguments) as asker:
            found = asker.profiled(arguments.table)
    else:
        with open_curator(arguments) as curator:
            found = curator.profile(arguments.table, share=arguments.share, columns=arguments.column)
    if arguments.json:
        print_json(found.to_dict())
    else:
        print(found.details() if arguments.all else found)
