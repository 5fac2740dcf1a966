"""Over real sockets: whoever takes nothing, or hardly anything, of what is sent is cut, and others are served."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt

PROGRAM = """
from dither.cli.main import main
from dither.server import app, bodies, listening
listening._TAKING_SECONDS = bodies.MOST_SECONDS = SECONDS
BUG
main()
"""
PATIENT = "app.not_for_ever = lambda made: made"
GROUPS = 100_000  # of the large answer: several times what the system buffers


def program(seconds: int, bug: str = "") -> tuple[str, str]:
    return "-c", PROGRAM.replace("SECONDS", str(seconds)).replace("BUG", bug)


def held_by(served: Any, connections: list[socket.socket]) -> int:
    """How many of these connections the server still has: the system lists each with the process that has it."""
    ours = {connection.getsockname()[1] for connection in connections}
    found = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        here, there = (int(end.split(":")[1], 16) for end in fields[1:3])
        found += here == served.port and there in ours and fields[9] != "0"
    return found


def comes(condition: Callable[[], bool], seconds: float = 120) -> bool:
    """Whether it comes; the time is far beyond what it takes on any machine."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def connect(served: Any, held: ExitStack, request: str, who: str | None = None, times: int = 1) -> socket.socket:
    """A connection with little room for what comes, and requests one after the other."""
    made = held.enter_context(socket.socket())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(120)
    made.connect(("127.0.0.1", served.port))
    token = "" if who is None else f"Authorization: Bearer {served.tokens[who]}\r\n"
    made.sendall(f"GET {request} HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}\r\n".encode() * times)
    return made


def rest(connection: socket.socket) -> int:
    """How many bytes still come until the connection ends."""
    found = 0
    try:
        while part := connection.recv(2**16):
            found += len(part)
    except ConnectionResetError:
        pass
    return found


def check_strangers(served: Any, seconds: float = 120) -> None:
    """The page's script again and again, over connections that nothing is read from: no token is needed for that."""
    with ExitStack() as held:
        connections = [connect(served, held, "/assets/page.js", times=200) for _ in range(20)]
        assert all(connection.recv(12) == b"HTTP/1.1 200" for connection in connections)
        assert served.query("bob").status == 200
        assert comes(lambda: not held_by(served, connections), seconds), "connections stay as long as anybody likes"


def test_strangers_who_read_nothing_are_cut(unserved: Any) -> None:
    unserved.program = program(1)
    unserved.start()
    try:
        check_strangers(unserved)
    finally:
        unserved.stop()


def test_planted_bug_connections_stay(unserved: Any) -> None:
    unserved.program = program(1, PATIENT)
    unserved.start()
    try:
        with pytest.raises(AssertionError, match="as long as anybody likes"):
            check_strangers(unserved, 5)
    finally:
        unserved.stop()


@pytest.fixture
def large(unserved: Any) -> Any:
    """A folder with a table that has many groups."""
    with dt.Curator.open(unserved.folder) as curator:
        declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": {"n": dt.Int(0, GROUPS - 1)}}
        curator.register("wide", pa.table({"pid": range(100), "n": range(100)}), people="patients", **declared)
    yield unserved
    unserved.stop()


def answered(served: Any) -> tuple[str, int]:
    """Where the large answer is, and how many bytes it has."""
    reply = served.query("alice", "SELECT n, COUNT(*) FROM wide GROUP BY n")
    assert reply.status == 200
    return f"/v1/answers/{reply.json['id']}", len(reply.body)


def test_an_analyst_who_reads_nothing_or_a_byte_now_and_then_is_cut(large: Any) -> None:
    large.program = program(1)
    large.start()
    path, length = answered(large)
    with ExitStack() as held:
        nothing, little = (connect(large, held, path, "alice") for _ in range(2))
        assert large.query("bob").status == 200
        read = 0

        def cut() -> bool:
            nonlocal read
            read += len(little.recv(1))
            return not held_by(large, [nothing, little])

        assert comes(cut)
        assert rest(nothing) < length
        assert read + rest(little) < length
    assert large.call("alice", "GET", path).body[:10] == b'{"id": "' + path[12:14].encode()


def check_revoked(served: Any) -> None:
    """A token that is revoked while an answer is taken ends it, and the answer is not given whole."""
    path, length = answered(served)
    with ExitStack() as held:
        slow = connect(served, held, path, "alice")
        assert slow.recv(12) == b"HTTP/1.1 200"
        identity = served.tokens["alice"].split("_")[1]
        assert served.call("curator", "DELETE", f"/v1/tokens/{identity}").status == 200
        assert rest(slow) < length, "what is revoked opens nothing"


def test_an_answer_under_way_ends_with_its_token(large: Any) -> None:
    large.program = program(600, "bodies._LOOK = 0")
    large.start()
    check_revoked(large)


def test_planted_bug_only_the_beginning_is_looked_at(large: Any) -> None:
    large.program = program(600, "bodies._LOOK = 1e9")
    large.start()
    with pytest.raises(AssertionError, match="opens nothing"):
        check_revoked(large)
