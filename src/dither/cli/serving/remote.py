"""`dither --url ... --token-file ...`: an analyst's commands, asked of a server in place of a folder."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.common import open_curator
from dither.cli.usage import Parser
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither import Analyst, Curator
    from dither.client.remote import RemoteService

_MOST_BYTES = 4096  # of a file that holds a token


def server_options(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The server that was named, wherever that stands, and all other arguments; of a folder's commands, all of them."""
    options = Parser(prog="dither", add_help=False, allow_abbrev=False)
    options.add_argument("--url")
    options.add_argument("--token-file", type=Path)
    options.add_argument("--ca", type=Path)
    if not any(word.partition("=")[0] == "--url" for word in given):
        return argparse.Namespace(url=None), [*given]
    found, others = options.parse_known_args(given)
    if found.token_file is None:
        options.error("--url needs --token-file, a file with the token that the curator gave you")
    return found, others


@contextmanager
def open_asker(arguments: argparse.Namespace) -> Iterator[Curator | Analyst]:
    """Whoever asks: at a server the token's analyst; at home the analyst who was named, or the curator."""
    if arguments.url is not None:
        yield _connected(arguments)
        return
    with open_curator(arguments) as curator:
        named = getattr(arguments, "analyst", None)
        yield curator if named is None else curator.analyst(named)


def remote_service(arguments: argparse.Namespace) -> RemoteService:
    """The service of the server that was named."""
    from typing import cast

    return cast("RemoteService", _connected(arguments).service)


def _connected(arguments: argparse.Namespace) -> Analyst:
    from dither.client import connect

    return connect(arguments.url, _token(arguments.token_file), ca=arguments.ca)


def _token(path: Path) -> str:
    with path.open("rb") as file:
        found = file.read(_MOST_BYTES + 1)
    if len(found) > _MOST_BYTES or not found.strip().isascii():
        raise ParameterError(f"{path} holds no token: a file has it on one line, as `dither token make` has shown it.")
    return found.strip().decode()
