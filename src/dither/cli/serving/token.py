"""`dither token`: who may talk to a server."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json

if TYPE_CHECKING:
    from dither.server.tokens import Tokens

_TOKEN = """\
Tokens are what analysts, curators and auditors show to a server. Each belongs to one of
them, is shown once, ends after some days and can be revoked at any time."""

_TOKEN_EXAMPLES = """\
  dither token make clinic --analyst alice --days 30
  dither token make clinic --role auditor
  dither token list clinic
  dither token revoke clinic 0123456789abcdef"""


def add_token(commands: Commands) -> None:
    token = command(commands, "token", "make, list or revoke tokens", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    token.set_defaults(run=lambda _: token.print_help())
    actions = token.add_subparsers(title="actions", metavar="ACTION")
    make = command(actions, "make", "make a token, shown once", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    add_folder(make)
    whose = make.add_mutually_exclusive_group(required=True)
    whose.add_argument("--analyst", metavar="NAME", help="an analyst, as made by init")
    whose.add_argument("--role", choices=("curator", "auditor", "administrator", "monitor"), help="somebody else")
    make.add_argument("--days", type=int, default=90, help="how long it is valid (default 90)")
    make.add_argument("--label", default="", help="a note for those who list tokens")
    listing = command(actions, "list", "list all tokens", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    add_folder(listing)
    revoke = command(actions, "revoke", "revoke a token", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    add_folder(revoke)
    revoke.add_argument("id", help="as `dither token list` shows it")
    for parser, run in ((make, make_token), (listing, list_tokens), (revoke, revoke_token)):
        add_json(parser)
        parser.set_defaults(run=run)


def make_token(arguments: argparse.Namespace) -> None:
    """Print a new token: the only time that it is seen."""
    from dither.curator.principal import Principal

    with open_curator(arguments) as curator:
        if arguments.analyst is None:
            principal = Principal(arguments.role)
        else:
            principal = Principal.analyst(curator.analyst(arguments.analyst).name)
    text = _tokens(arguments).make(principal, days=arguments.days, label=arguments.label)
    if arguments.json:
        print_json({"token": text})
    else:
        print(text)


def list_tokens(arguments: argparse.Namespace) -> None:
    """Print all tokens that were ever made, but not what they are."""
    from dither.server.tokens import document_of

    with open_curator(arguments):
        found = _tokens(arguments).all()
    if arguments.json:
        print_json([document_of(token) for token in found])
        return
    for token in found:
        until = time.strftime("%Y-%m-%d", time.gmtime(token.until))
        name = token.principal.name or token.principal.role
        print(f"{token.id}  {token.state:<8} until {until}  {name}  {token.label}".rstrip())


def revoke_token(arguments: argparse.Namespace) -> None:
    """From now on it opens nothing."""
    with open_curator(arguments):
        _tokens(arguments).revoke(arguments.id)
    if arguments.json:
        print_json({"revoked": arguments.id})
    else:
        print(f"{arguments.id} is revoked.")


def _tokens(arguments: argparse.Namespace) -> Tokens:
    from dither.server.store import Store
    from dither.server.tokens import Tokens

    return Tokens(Store(arguments.folder))
