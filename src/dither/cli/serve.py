"""`dither serve` and `dither token`: a curator's folder as a server, and who may talk to it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.server.tokens import Tokens

_SERVE = """\
Serve a curator's folder over HTTP: analysts ask with a token, and never touch the
folder, the ledger or the data. Beyond this machine it speaks TLS only. Several
processes may serve the same folder."""

_SERVE_EXAMPLES = """\
  dither serve clinic
  dither serve clinic --host 0.0.0.0 --port 8443 --certificate server.pem --key server.key
  dither serve clinic --data-root /srv/data   tables may be registered from files below it"""

_TOKEN = """\
Tokens are what analysts, curators and auditors show to a server. Each belongs to one of
them, is shown once, ends after some days and can be revoked at any time."""

_TOKEN_EXAMPLES = """\
  dither token make clinic --analyst alice --days 30
  dither token make clinic --role auditor
  dither token list clinic
  dither token revoke clinic 0123456789abcdef"""


def add_serve(commands: Commands) -> None:
    parser = command(commands, "serve", "serve a folder over HTTP", description=_SERVE, examples=_SERVE_EXAMPLES)
    add_folder(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default 8000; 0 takes a free one)")
    parser.add_argument("--processes", type=int, default=1, help="how many processes serve the folder (default 1)")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="the server's certificate chain, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key, PEM")
    parser.add_argument("--plaintext", action="store_true", help="no TLS beyond this machine: a proxy in front has it")
    parser.add_argument("--data-root", type=Path, metavar="FOLDER", help="tables may be registered from files below it")
    parser.add_argument("--upload-quota", type=int, default=2**31, metavar="BYTES", help="of all uploads together")
    parser.add_argument(
        "--remote-admin", action="store_true", help="administrators' tokens may grant budgets, caps and tokens"
    )
    parser.set_defaults(run=serve)


def add_token(commands: Commands) -> None:
    token = command(commands, "token", "make, list or revoke tokens", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    token.set_defaults(run=lambda _: token.print_help())
    actions = token.add_subparsers(title="actions", metavar="ACTION")
    make = command(actions, "make", "make a token, shown once", description=_TOKEN, examples=_TOKEN_EXAMPLES)
    add_folder(make)
    whose = make.add_mutually_exclusive_group(required=True)
    whose.add_argument("--analyst", metavar="NAME", help="an analyst, as made by init")
    whose.add_argument("--role", choices=("curator", "auditor", "administrator"), help="somebody else")
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


def serve(arguments: argparse.Namespace) -> None:
    """Listen until a signal says stop."""
    try:
        from dither.server.serve import Settings, free_port, run
    except ImportError as error:
        raise ParameterError(f"serving needs the extra `server`: pip install 'dither[server]' ({error}).") from None
    anchor, certificate, key, root = (
        None if path is None else str(path)
        for path in (arguments.anchor, arguments.certificate, arguments.key, arguments.data_root)
    )
    settings = Settings(
        folder=str(arguments.folder),
        anchor=anchor,
        host=arguments.host,
        port=arguments.port or free_port(arguments.host),
        certificate=certificate,
        key=key,
        plaintext=arguments.plaintext,
        data_root=root,
        upload_quota=arguments.upload_quota,
        remote_admin=arguments.remote_admin,
        processes=arguments.processes,
    )
    settings.check()
    open_curator(arguments).close()  # what is wrong with the folder is said here, once
    print(f"serving {arguments.folder} at {settings.address}", flush=True)
    run(settings)


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
