"""`dither ledger verify`: the whole ledger checked against its key and its anchor."""

from __future__ import annotations

import argparse

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json

_DESCRIPTION = """\
Check every entry of the ledger against its key, its chain, the budgets and the
anchor. A ledger that was edited, cut or rolled back is reported and not served."""

_EXAMPLES = """\
  dither ledger verify clinic
  dither ledger verify clinic --anchor /safe/clinic.anchor"""


def add(commands: Commands) -> None:
    ledger = command(
        commands, "ledger", "check the ledger", description="What can be done with the ledger.", examples=_EXAMPLES
    )
    actions = ledger.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = command(actions, "verify", "check the whole ledger", description=_DESCRIPTION, examples=_EXAMPLES)
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(run=verify)


def verify(arguments: argparse.Namespace) -> None:
    """Print how many entries were found intact; an error otherwise."""
    with open_curator(arguments) as curator:
        entries = curator.verify()
    if arguments.json:
        print_json({"entries": entries, "intact": True})
    else:
        print(f"the ledger of {arguments.folder} is intact: {entries:,} entries.")
