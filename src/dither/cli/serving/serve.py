"""`dither serve`: a curator's folder as a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.cli.common import Commands, add_folder, command, open_curator
from dither.errors import ParameterError
from dither.lazy import missing_extra

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
    parser.add_argument("--pg", type=int, metavar="PORT", help="speak PostgreSQL's protocol there (0: a free one)")
    parser.add_argument("--processes", type=int, default=1, help="how many processes serve the folder (default 1)")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="the server's certificate chain, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key, PEM")
    parser.add_argument("--plaintext", action="store_true", help="no TLS beyond this machine: a proxy in front has it")
    parser.add_argument(
        "--origin", metavar="URL", help="where a proxy in front shows the web page: https://NAME[:PORT]"
    )
    parser.add_argument("--data-root", type=Path, metavar="FOLDER", help="tables may be registered from files below it")
    parser.add_argument("--upload-quota", type=int, default=2**31, metavar="BYTES", help="of all uploads together")
    parser.add_argument(
        "--remote-admin", action="store_true", help="administrators' tokens may grant budgets, caps and tokens"
    )
    parser.add_argument("--log", action="store_true", help="a line for each request: endpoint, role and status")
    parser.add_argument("--admin-port", type=int, metavar="PORT", help="show metrics there, to those with a token")
    parser.add_argument(
        "--admin-host", default="127.0.0.1", metavar="HOST", help="and on this address (default this machine)"
    )
    parser.set_defaults(run=serve)


def serve(arguments: argparse.Namespace) -> None:
    """Listen until a signal says stop."""
    try:
        from dither.ledger.storage.address import known_address
        from dither.server.listening import check_free
        from dither.server.serve import Settings, address, free_port, run
    except ImportError as error:
        raise ParameterError(missing_extra("serving needs", "server", error)) from None
    anchor, certificate, key, root = (
        None if path is None else str(path)
        for path in (arguments.anchor, arguments.certificate, arguments.key, arguments.data_root)
    )
    settings = Settings(
        folder=str(arguments.folder),
        anchor=anchor,
        weak_anchor=arguments.weak_anchor,
        host=address(arguments.host, "--host"),
        port=arguments.port or free_port(arguments.host),
        pg_port=free_port(arguments.host) if arguments.pg == 0 else arguments.pg,
        certificate=certificate,
        key=key,
        plaintext=arguments.plaintext,
        origin=arguments.origin,
        data_root=root,
        upload_quota=arguments.upload_quota,
        remote_admin=arguments.remote_admin,
        processes=arguments.processes,
        log=arguments.log,
        admin_host=address(arguments.admin_host, "--admin-host"),
        admin_port=free_port(arguments.admin_host) if arguments.admin_port == 0 else arguments.admin_port,
    )
    settings.check()
    settings.check_files()
    open_curator(arguments).close()  # what is wrong with the folder is said here, once, and before the ports
    own = (settings.host, settings.port), (settings.host, settings.pg_port)
    for host, port in (*own, (settings.admin_host, settings.admin_port)):
        if port is not None:
            check_free(host, port)
    print(f"serving {arguments.folder} at {settings.address}", flush=True)
    if known_address(arguments.folder) is not None:
        print(
            "its ledger is in PostgreSQL, its snapshots are in this folder: serve it from this host alone", flush=True
        )
    if settings.pg_port is not None:
        print(f"PostgreSQL clients at {settings.host}, port {settings.pg_port}", flush=True)
    if settings.admin_port is not None:
        print(f"metrics at {settings.admin_address}/v1/metrics", flush=True)
    run(settings)
