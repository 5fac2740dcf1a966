"""Where a process of a study or of look-ups listens."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.server.listening import Listening


def add_listening(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, help="the port to listen on")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key, PEM")
    parser.add_argument("--plaintext", action="store_true", help="no TLS: a proxy in front has it")


def listening(arguments: argparse.Namespace) -> Listening:
    certificate, key = (None if path is None else str(path) for path in (arguments.certificate, arguments.key))
    return Listening(arguments.host, arguments.port, certificate, key, arguments.plaintext)
