"""Reads cells of a published release from its servers, which do not learn which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from urllib.parse import urlsplit

from dither.client.connection import Connection
from dither.errors import ParameterError
from dither.lookup.cells import Cells, Key
from dither.lookup.lwe import LweClient, Upright
from dither.lookup.xor import Square
from dither.server.listening import loopback


class Lookup:
    """Look-ups at two servers that do not talk to each other, or at one (learning with errors).

    >>> Lookup()
    Traceback (most recent call last):
    dither.errors.ParameterError: give the address of one server, or of two.
    """

    def __init__(self, *urls: str, digest: str | None = None) -> None:
        if len(urls) not in (1, 2):
            raise ParameterError("give the address of one server, or of two.")
        if len({_place(url) for url in urls}) != len(urls):
            raise ParameterError("the two servers are one: it would see both queries, and so which cell is read.")
        self._servers = [Connection(url, "anybody") for url in urls]
        described = [json.loads(server.send("GET", "/index")) for server in self._servers]
        self.cells = Cells.of(described[0])
        if described[0] != described[-1] or (digest is not None and digest != self.cells.digest):
            raise ParameterError("the servers do not have the same release, or not the one whose digest you gave.")

    def get(self, **key: Key) -> Mapping[str, int | float | None] | None:
        """The values of one cell; None where the release has no row. Nobody but you knows which cell it was."""
        number = self.cells.number(**key)
        return self.cells.read(self._cell(number))

    def _cell(self, number: int) -> bytes:
        if len(self._servers) == 2:
            square = Square(self.cells.count, self.cells.size)
            asked = zip(self._servers, square.queries(number), strict=True)
            first, second = (server.send("POST", "/xor", query) for server, query in asked)
            return square.cell(number, (first, second))
        query, secret = self._client.query(number)
        return self._client.cell(number, secret, self._servers[0].send("POST", "/lwe", query))

    @cached_property
    def _client(self) -> LweClient:
        """With the hint, which is fetched once."""
        content = self._servers[0].send("GET", "/hint")
        if sha256(content).hexdigest() != self.cells.hint:
            raise ParameterError("the server's hint is not that of the release.")
        return LweClient.of(Upright(self.cells.count, self.cells.size), content)


def _place(url: str) -> tuple[str, int]:
    """Which host and port an address leads to, however it is written; this machine has one name."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return "localhost" if host == "localhost" or loopback(host) else host, port
