"""`dither officer`: the key that grants are held to. It is the officer's own, and never in the curator's folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.officer.life_cycle import read_order, write_order
from dither.escape import visible

_OFFICER = """\
The officer's key. A budget is raised only by the signature of its holder; the ledger
knows the public part, and every opening and `dither ledger verify` hold grants to it."""

_MAKE = "Make an Ed25519 key in a new file, for its owner alone, and print the public part."
_ENROL = """\
Hold grants to this public key from now on. The first key needs no signature: enrol it
when you make the folder. Another one replaces it only with --key, the one before."""
_SIGN = "Sign an order that `dither grant --draft` wrote. Read first what it says."

_EXAMPLES = """\
  dither officer make officer.pem
  dither officer enrol clinic 0123456789abcdef...
  dither officer sign order.json --key officer.pem"""


def add(commands: Commands) -> None:
    officer = command(commands, "officer", "the key that signs grants", description=_OFFICER, examples=_EXAMPLES)
    officer.set_defaults(run=lambda _: officer.print_help())
    actions = officer.add_subparsers(title="actions", metavar="ACTION")
    made, enrolled, signed = _EXAMPLES.splitlines()
    parser = command(actions, "make", "make a key", description=_MAKE, examples=made)
    parser.add_argument("file", type=Path, help="where the private key is written")
    add_json(parser)
    parser.set_defaults(run=make)
    parser = command(actions, "enrol", "hold grants to a key", description=_ENROL, examples=enrolled)
    add_folder(parser)
    parser.add_argument("public", help="the public key, as `dither officer make` printed it")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the private key of the officer before, who signs")
    parser.add_argument("--reason", default="the officer's key", help="why; it stands in the ledger for good")
    add_json(parser)
    parser.set_defaults(run=enrol)
    parser = command(actions, "sign", "sign an order", description=_SIGN, examples=signed)
    parser.add_argument("order", type=Path, help="the order; its signature is written into it")
    parser.add_argument("--key", type=Path, metavar="FILE", required=True, help="the officer's private key")
    add_json(parser)
    parser.set_defaults(run=sign)


def make(arguments: argparse.Namespace) -> None:
    """Make a key and print the public part."""
    from dither.ledger.officer.orders import make_key

    public = make_key(arguments.file)
    if arguments.json:
        print_json({"public": public})
    else:
        print(public)


def enrol(arguments: argparse.Namespace) -> None:
    """Register the public part."""
    with open_curator(arguments) as curator:
        if arguments.key is None:
            curator.officer.enrol(arguments.public, reason=arguments.reason)
        else:
            curator.officer.replace_key(arguments.public, reason=arguments.reason, key=arguments.key)
    if arguments.json:
        print_json({"officer": arguments.public})
    else:
        print(f"from now on budgets of {arguments.folder} are raised by the signature of {arguments.public} alone.")


def sign(arguments: argparse.Namespace) -> None:
    """Say what is signed, and sign it."""
    from dither.curator.officer.decisions import check_order

    order, _ = read_order(arguments.order)
    check_order(order)
    write_order(arguments.order, order, order.signed(arguments.key))
    if arguments.json:
        print_json(dict(order.body))
    else:
        print("\n".join(visible(f"{name}: {value}") for name, value in sorted(order.body.items())))
        print(f"{arguments.order} is signed: dither grant FOLDER --order {arguments.order}")
