"""What nobody takes stays in memory, so it counts among what is under way: it is bounded, and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.responses import Response

from dither.server import bodies
from dither.server.app import application
from dither.server.endpoints import ASKERS, Asked, Endpoint, Reply
from dither.server.metrics import Sums
from dither.server.serve import Settings, _door
from dither.server.store import Store
from dither.server.throttle import Throttle
from dither.server.tokens import Tokens

CONTENT = bytes(10**6)


class Server:
    """An application with one large answer, of which each principal may have two requests under way."""

    def __init__(self, folder: Path, tokens: dict[str, str]) -> None:
        self.store, self.tokens = Store(folder), tokens
        door = _door(Tokens(self.store), Settings(str(folder)), Sums())
        object.__setattr__(door, "throttle", Throttle(concurrent=2))
        self.application = application((Endpoint("GET", "/large", ASKERS, "", self.large),), door, None)

    def large(self, asked: Asked) -> Any:
        return Reply(CONTENT, "text/plain")

    async def call(self, who: str, taking: Any = None) -> tuple[int, bytes]:
        """The status and what came; `taking` is waited for before each part of the body is taken."""
        status, found = 0, bytearray()

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            if "body" in message and status == 200:
                await anyio.sleep(0) if taking is None else await taking()
                found.extend(message["body"])

        headers = [(b"authorization", f"Bearer {self.tokens[who]}".encode())]
        scope = {"type": "http", "method": "GET", "path": "/v1/large", "query_string": b"", "headers": headers}
        scope |= {"http_version": "1.1", "scheme": "http", "root_path": "", "server": ("127.0.0.1", 1), "client": None}
        await self.application(scope, receive, send)
        return status, bytes(found)

    async def check_bound(self) -> None:
        """alice does not take two answers: she gets no third one, and others do; then she takes both."""
        go, waiting = anyio.Event(), anyio.Semaphore(0)
        came: list[tuple[int, bytes]] = []

        async def taking() -> None:
            waiting.release()
            await go.wait()

        async def slow() -> None:
            came.append(await self.call("alice", taking))

        async with anyio.create_task_group() as several:
            for _ in range(2):
                several.start_soon(slow)
            for _ in range(2):
                await waiting.acquire()
            status, _ = await self.call("alice")
            assert status == 429, "as many answers as one likes stay in memory"
            assert await self.call("bob") == (200, CONTENT)
            go.set()
        assert came == [(200, CONTENT)] * 2
        assert await self.call("alice") == (200, CONTENT)

    async def check_end(self) -> None:
        """What is not taken in time is cut short, and its place is free again."""
        for _ in range(3):
            status, found = await self.call("alice", anyio.sleep_forever)
            assert (status, found) == (200, b"")
        assert await self.call("bob") == (200, CONTENT)


@pytest.fixture
def server(unserved: Any) -> Any:
    made = Server(unserved.folder, unserved.tokens)
    yield made
    made.store.close()


def test_what_is_not_taken_counts_as_under_way(server: Server) -> None:
    anyio.run(server.check_bound)


def test_what_is_not_taken_in_time_is_cut_short(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.01)
    anyio.run(server.check_end)


def test_planted_bug_places_are_given_back_before_anything_is_taken(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = bodies.Sent.__call__

    async def careless(self: bodies.Sent, *given: Any) -> None:
        self.held.close()
        await send(self, *given)

    monkeypatch.setattr(bodies.Sent, "__call__", careless)
    with pytest.raises(BaseExceptionGroup) as raised:
        anyio.run(server.check_bound)
    assert raised.group_contains(AssertionError, match="stay in memory")


def test_planted_bug_nobody_looks_how_long_it_takes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def patient(self: bodies.Sent, *given: Any) -> None:
        with self.held:
            await Response.__call__(self, *given)

    async def check() -> None:
        with anyio.fail_after(1):
            await server.check_end()

    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.01)
    monkeypatch.setattr(bodies.Sent, "__call__", patient)
    with pytest.raises(TimeoutError):
        anyio.run(check)
