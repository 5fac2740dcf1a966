"""The door: what a request must look like to be let in, and what is told of errors that nobody foresaw."""

from __future__ import annotations

import socket
from typing import Any

import pytest

COUNT = "SELECT COUNT(*) FROM visits"


def sent(served: Any, text: bytes) -> bytes:
    """The first line that comes back for exactly these bytes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(text)
        return connection.recv(65536).partition(b"\r\n")[0]


def test_of_two_tokens_neither_counts(served: Any) -> None:
    lines = "".join(f"Authorization: Bearer {served.tokens[who]}\r\n" for who in ("alice", "curator"))
    assert b" 401 " in sent(served, f"GET /v1/tables HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: x\r\n",
        "Transfer-Encoding: nosuch\r\n",
        "Content-Length : 5\r\n",
    ],
)
def test_bodies_without_one_length_are_refused(served: Any, framing: str) -> None:
    """Two ideas of where a request ends would let one of them hide another behind a proxy."""
    spent = served.spent()
    head = f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.tokens['alice']}\r\n{framing}\r\n"
    assert b" 200 " not in sent(served, head.encode() + b'{"sql": "' + COUNT.encode() + b'", "epsilon": 1}')
    assert served.spent() == spent


def test_no_redirect_repeats_a_host(served: Any) -> None:
    reply = served.call("alice", "GET", "/v1/tables/", Host="dither.example")
    assert (reply.status, "location" in reply.headers) == (404, False)


def test_request_ids_are_short_texts(served: Any) -> None:
    for request in ("", "x" * 201, "\ud800"):
        assert served.query("alice", request=request).status == 400
