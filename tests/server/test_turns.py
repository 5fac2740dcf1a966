"""Threads are shared between principals: however long the requests of some take, others are answered."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dt
from dither.curator.principal import Principal
from dither.server.app import application
from dither.server.endpoints import ASKERS, COMPUTING, QUICK, SLOW, Asked, Endpoint
from dither.server.metrics import Sums
from dither.server.serve import Server as Process
from dither.server.serve import Settings, _door
from dither.server.store import Store
from dither.server.throttle import Turns
from dither.server.tokens import Tokens
from dither.sql.binding.reading import Readings


class Server:
    """An application with a request that takes until it is let go, and one that is answered at once."""

    def __init__(self, folder: Path, tokens: dict[str, str]) -> None:
        self.store, self.tokens = Store(folder), tokens
        self.go, self.begun = threading.Event(), Counter[str]()
        endpoints = (
            Endpoint("POST", "/slow", ASKERS, "", self.wait, threads=SLOW),
            Endpoint("GET", "/quick", ASKERS, "", self.quick),
        )
        self.door = _door(Tokens(self.store), Settings(str(folder), threads=4), Sums())
        self.application = application(endpoints, self.door, None)

    def wait(self, asked: Asked) -> Any:
        self.begun[asked.principal.name or asked.principal.role] += 1
        assert self.go.wait(120)
        return {}

    def quick(self, asked: Asked) -> Any:
        return {}

    async def call(self, who: str, method: str, path: str) -> int:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {self.tokens[who]}".encode())]
        scope = {"type": "http", "method": method, "path": f"/v1{path}", "query_string": b"", "headers": headers}
        scope |= {"http_version": "1.1", "scheme": "http", "root_path": "", "server": ("127.0.0.1", 1), "client": None}
        await self.application(scope, receive, send)
        return int(sent[0]["status"])

    async def begins(self, **begun: int) -> None:
        while self.begun != begun:
            await anyio.sleep(0.01)

    async def check(self, seconds: float) -> None:
        """alice and bob ask ten slow questions each; the curator is answered, and so begins a third slow one."""
        async with anyio.create_task_group() as several:
            try:
                for who in ("alice",) * 10 + ("bob",) * 10:
                    several.start_soon(self.call, who, "POST", "/slow")
                with anyio.fail_after(seconds):
                    await self.begins(alice=2, bob=1)
                    assert await self.call("curator", "GET", "/quick") == 200
                    several.start_soon(self.call, "curator", "POST", "/slow")
                    await self.begins(alice=2, bob=1, curator=1)
                    assert await self.call("bob", "GET", "/quick") == 200
            finally:
                self.go.set()
        assert self.begun == {"alice": 10, "bob": 10, "curator": 1}


@pytest.fixture
def server(unserved: Any) -> Any:
    made = Server(unserved.folder, unserved.tokens)
    yield made
    made.store.close()


def test_slow_questions_of_some_hold_up_nobody_else(server: Server) -> None:
    anyio.run(server.check, 60.0)


def test_planted_bug_first_come_first_served(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(self: Turns) -> None:
        while self._waiting and self._taken.total() < self._most:
            first = self._waiting.pop(0)
            self._taken[first.principal] += 1
            first.turn.set()

    monkeypatch.setattr(Turns, "_give", give)
    with pytest.raises(BaseExceptionGroup, match="unhandled") as raised:
        anyio.run(server.check, 1.0)
    assert raised.group_contains(TimeoutError)


class Requests:
    """Requests that wait for turns, and end when they are told to."""

    def __init__(self, most: int) -> None:
        self.turns, self.most = Turns(most), most
        self.open: list[tuple[str, anyio.Event, anyio.CancelScope]] = []
        self.begun = Counter[str]()

    async def ask(self, principal: str, *, task_status: Any) -> None:
        ends = anyio.Event()
        with anyio.CancelScope() as scope:
            self.open.append((principal, ends, scope))
            task_status.started()
            async with self.turns._turn(principal):
                self.begun[principal] += 1
                try:
                    await ends.wait()
                finally:
                    self.begun[principal] -= 1

    async def follow(self, steps: list[tuple[str, int]]) -> None:
        async with anyio.create_task_group() as several:
            for what, number in steps:
                if what == "ask":
                    await several.start(self.ask, "abc"[number % 3])
                elif self.open:
                    _, ends, scope = self.open.pop(number % len(self.open))
                    ends.set() if what == "end" else scope.cancel()
                await anyio.wait_all_tasks_blocked()
                self.check()
            for _, ends, _ in self.open:
                ends.set()
        assert not +self.turns._taken
        assert not self.turns._waiting

    def check(self) -> None:
        """Nobody waits who may have a turn, and nobody has one who has others wait for more than there is."""
        asked = Counter(principal for principal, _, _ in self.open)
        free = self.most - self.begun.total()
        assert free >= 0
        for principal, wanted in asked.items():
            assert self.begun[principal] == wanted or self.begun[principal] >= free, "waits for nothing"
            assert self.begun[principal] <= (self.most + 1) // 2, "more than half"


async def alone(patience: float, together: int) -> int:
    """How many have a turn at once of two who ask for one; after so many have, they end."""
    turns, ends, most = Turns(2, patience), anyio.Event(), 0
    begun = anyio.Semaphore(0)

    async def ask(principal: str) -> None:
        nonlocal most
        async with turns._turn(principal):
            most = max(most, turns._taken.total())
            begun.release()
            await ends.wait()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as several:
            several.start_soon(ask, "alice")
            several.start_soon(ask, "bob")
            for _ in range(together):
                await begun.acquire()
            await anyio.wait_all_tasks_blocked()
            ends.set()
    return most


def test_what_is_short_is_done_one_after_the_other() -> None:
    assert anyio.run(alone, 3600.0, 1) == 1


def test_what_is_long_holds_up_nobody() -> None:
    assert anyio.run(alone, 0.01, 2) == 2


STEPS = st.lists(st.tuples(st.sampled_from(["ask", "ask", "ask", "end", "cancel"]), st.integers(0, 11)), max_size=30)


@given(st.integers(1, 9), STEPS)
def test_turns_go_to_whoever_may_have_one(most: int, steps: list[tuple[str, int]]) -> None:
    anyio.run(Requests(most).follow, steps)


def test_planted_bug_turns_are_not_given_back() -> None:
    class Kept(Counter[str]):
        def __setitem__(self, principal: str, number: int) -> None:
            super().__setitem__(principal, max(number, self[principal]))

    requests = Requests(2)
    requests.turns._taken = Kept()
    with pytest.raises(AssertionError):
        anyio.run(requests.follow, [("ask", 0), ("cancel", 0), ("ask", 1)])


class Pricing:
    """A curator whose readings of alice's texts take until they are let go."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.go = Process(Settings(str(folder))), threading.Event()
        self.begun = threading.Semaphore(0)
        self.done = Counter[str]()

        def read(readings: Readings, analyst: str | None, *stated: Any, real: Any = Readings.read, **named: Any) -> Any:
            if analyst == "alice":
                self.begun.release()
                assert self.go.wait(120)
            return real(readings, analyst, *stated, **named)

        monkeypatch.setattr(Readings, "read", read)

    def ask(self, who: str) -> None:
        """Refused, since it costs more than anybody has."""
        service = self.server.curator.service
        with pytest.raises(dt.BudgetExceeded):
            service.ask(Principal.analyst(who), "SELECT COUNT(*) FROM visits", epsilon=900, request=who)
        self.done[who] += 1

    def check(self, seconds: float) -> None:
        """alice computes one text and has four wait; bob's turn comes all the same."""
        several = [threading.Thread(target=self.ask, args=("alice",), daemon=True) for _ in range(5)]
        several.append(threading.Thread(target=self.ask, args=("bob",), daemon=True))
        try:
            for thread in several[:-1]:
                thread.start()
            assert self.begun.acquire(timeout=60)
            several[-1].start()
            several[-1].join(seconds)
            assert self.done == {"bob": 1}, "others wait"
        finally:
            self.go.set()
            for thread in several:
                thread.join(60)
            self.server.close()


def test_expensive_texts_of_one_leave_turns_to_others(unserved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Pricing(unserved.folder, monkeypatch).check(60)


def test_planted_bug_one_turn_for_all(unserved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.server.serve._COMPUTING", 1)
    with pytest.raises(AssertionError, match="others wait"):
        Pricing(unserved.folder, monkeypatch).check(1)


def test_what_takes_long_or_computes_is_apart(unserved: Any) -> None:
    server = Process(Settings(str(unserved.folder), remote_admin=True))
    by_threads: dict[str, set[str]] = {}
    for endpoint in server.endpoints:
        by_threads.setdefault(endpoint.threads, set()).add(endpoint.name)
    server.close()
    long = {"query", "answer", "declare", "draft", "refresh", "verify", "history", "statement", "statement_line"}
    assert by_threads[SLOW] - {"profile", "snapshots"} == long
    assert by_threads[COMPUTING] == {"explain", "price", "share", "shared"}
    assert {"budget", "tables", "freeze", "revoke_token", "submit", "state"} < by_threads[QUICK]
