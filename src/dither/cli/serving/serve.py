"""`dither serve`: a curator's folder as a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.cli.common import Commands, add_folder, command, open_curator
from dither.errors import ParameterError

_SERVE = """\
Serve a curator's folder over HTTP: analysts ask with a token, and never touch the
folder, the ledger or the data. Beyond this machine it speaks TLS only. Several
processes may serve the same folder."""

_SERVE_EXAMPLES = """\
  dither serve clinic
  dither serve clinic --host 0.0.0.0 --port 8443 --certificate server.pem --key server.key
  dither serve clinic --data-root /srv/data   tables may be registered from files below it"""


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
