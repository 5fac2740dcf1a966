"""Connections by the thousand leave the files that answering takes: nothing fails for want of them, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from dither.server.app import _internal
from dither.server.wire.sqlstates import report_of

FILES = 128  # that each process may open
PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
from dither.cli.main import main
from dither.server import listening
BUG
main()
"""


@contextmanager
def idle(served: Any) -> Iterator[None]:
    """More connections than there are files, that say nothing."""
    with ExitStack() as held:
        for _ in range(1000):
            held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=120))
        yield


def files(served: Any) -> int:
    """Open in the process that serves."""
    process = served.process.pid
    child = int(Path(f"/proc/{process}/task/{process}/children").read_text().split()[0])
    return len(os.listdir(f"/proc/{child}/fd"))


def ask(known: HTTPConnection, served: Any, number: int) -> int:
    """The status of a question over a connection that is there already, as long as the server keeps it."""
    body = {"sql": f"SELECT COUNT(*) FROM visits WHERE age > {number}", "epsilon": "0.001", "request": str(number)}
    for _ in range(20):
        try:
            headers = {"Authorization": f"Bearer {served.tokens['alice']}"}
            known.request("POST", "/v1/query", json.dumps(body), headers)
            reply = known.getresponse()
            reply.read()
            return reply.status
        except (OSError, HTTPException):  # it said nothing for ten seconds: a new one waits until others end
            known.close()
    raise AssertionError("the server does not answer")


def check(served: Any, bug: str = "") -> None:
    served.program = ("-c", PROGRAM.replace("FILES", str(FILES)).replace("BUG", bug))
    served.start()
    try:
        with closing(HTTPConnection("127.0.0.1", served.port, timeout=120)) as known:
            assert ask(known, served, 0) == 200
            with idle(served):
                # As many as are accepted at once; with the bug, until no file is left.
                while files(served) < (FILES if bug else FILES // 2):
                    time.sleep(0.01)
                statuses = [ask(known, served, number) for number in range(1, 5)]
                assert statuses == [200] * 4, "what is charged has the files that it takes"
        served.wait()
        charged = [entry for entry in served.call("alice", "GET", "/v1/history").json if entry["kind"] == "reserve"]
        assert len(charged) == 5
    finally:
        served.stop()


def test_idle_connections_leave_files_for_answers(unserved: Any) -> None:
    check(unserved)


def test_planted_bug_as_many_connections_as_there_are_files(unserved: Any) -> None:
    with pytest.raises(AssertionError, match="the files that it takes"):
        check(unserved, "listening.connections = lambda workers: 1024")


@pytest.mark.parametrize(("why", "status"), [(errno.EMFILE, 503), (errno.ENOSPC, 503), (errno.EACCES, 500)])
def test_a_machine_without_room_is_asked_again(why: int, status: int) -> None:
    async def told() -> Any:
        return await _internal(Request({"type": "http"}), OSError(why, "secret", "/secret"))

    reply = anyio.run(told)
    assert reply.status_code == status
    assert b"secret" not in reply.body
    assert ("retry-after" in reply.headers) == (status == 503)
    assert report_of(OSError(why, "secret")).state == ("53000" if status == 503 else "XX000")
