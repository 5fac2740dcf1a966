"""An analyst of a curator that runs elsewhere: the same methods as at home, over HTTP.

It needs neither the engine nor the parser of SQL.
"""

from __future__ import annotations

from os import PathLike

from dither.client.connection import Connection
from dither.client.remote import RemoteService
from dither.curator.analyst import Analyst
from dither.curator.principal import Principal

__all__ = ["connect"]


def connect(
    url: str, token: str, *, plaintext: bool = False, ca: str | PathLike[str] | None = None, timeout: float = 900.0
) -> Analyst:
    """The analyst to whom a token belongs, at a server such as "https://dither.example:8443".

    Requests are sent again when a connection breaks: each question has a request id, so it is charged once. Tokens go
    over a network by TLS only, unless `plaintext` says otherwise. The server's certificate must be vouched for by an
    authority that this machine trusts, or by the one in the file `ca`.
    """
    service = RemoteService(Connection(url, token, plaintext=plaintext, ca=ca, timeout=timeout))
    who = service.whoami()
    return Analyst(service, Principal(who["role"], who["name"]))  # type: ignore[arg-type]
