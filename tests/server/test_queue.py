"""The queue: first come, first served within one principal, and nobody's many hold up another's few."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.principal import Principal
from dither.server import store as kept
from dither.server.endpoints import Asked
from dither.server.questions import Questions
from dither.server.serve import Server, Settings
from dither.server.store import JobRow, Store

SECOND = 7  # in which all of them come


def wait_in_line(store: Store, *identities: str) -> None:
    """Jobs of the principals that their ids begin with, in this order."""
    for identity in identities:
        row = JobRow(identity, f"analyst {identity[0]}", "t", "{}", "queued", None, SECOND, 0)
        assert store.add_job(row, 100)


def served(store: Store) -> str:
    row = store.take_job(10, 40)
    assert row is not None
    assert store.end_job(row.id, "done", "{}")
    return row.id


def check_order(store: Store, other: Store) -> None:
    """Whoever takes them, one after the other; ids are random, and here the wrong way round."""
    wait_in_line(store, "a9", "a8", "a7", "a6")
    assert [served(store), served(other)] == ["a9", "a8"], "first come, first served"
    wait_in_line(other, "a5")
    assert [served(store) for _ in range(3)] == ["a7", "a6", "a5"], "first come, first served"


def test_first_come_first_served(store: Store, opened: Callable[[], Store]) -> None:
    check_order(store, opened())


def test_planted_bug_order_by_id(store: Store, opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "replace", lambda row, **_: row)
    with pytest.raises(AssertionError, match="first come"):
        check_order(store, opened())


def check_turns(store: Store) -> None:
    """One at a time: each principal has one turn, though another came first with many."""
    wait_in_line(store, "a9", "a8", "a7", "b9", "b8", "c9")
    assert [served(store) for _ in range(4)] == ["a9", "b9", "c9", "a8"], "turns"
    wait_in_line(store, "d9", "c8")
    assert [served(store) for _ in range(4)] == ["d9", "b8", "c8", "a7"], "turns"


def test_principals_take_turns(store: Store) -> None:
    check_turns(store)


def test_planted_bug_a_line_for_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Store.take_job

    def forgetful(self: Store, now: int, lease: int) -> JobRow | None:
        with self._transaction() as connection:
            connection.execute("UPDATE jobs SET begun = 0")
        return take(self, now, lease)

    monkeypatch.setattr(Store, "take_job", forgetful)
    with pytest.raises(AssertionError, match="turns"):
        check_turns(store)


def test_who_has_fewer_running_comes_first(store: Store) -> None:
    wait_in_line(store, "a9", "a8", "b9")
    taken = [store.take_job(10, 40) for _ in range(3)]
    assert [row.id for row in taken if row is not None] == ["a9", "b9", "a8"]


class Long:
    """A server whose jobs take until they are let go."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.go, self.begun = Server(Settings(str(folder))), threading.Event(), Counter[str]()
        self.server.jobs.threads = 4
        self.tokens = {name: self.server.tokens.make(Principal.analyst(name)) for name in ("alice", "bob")}

        def asked(questions: Questions, principal: Principal, *stated: Any, real: Any = Questions.asked) -> str:
            self.begun[str(principal.name)] += 1
            assert self.go.wait(120)
            answer: str = real(questions, principal, *stated)
            return answer

        monkeypatch.setattr(Questions, "asked", asked)

    def submit(self, name: str) -> None:
        token = self.tokens[name].split("_")[1]
        body = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.001"}
        self.server.jobs.submit(Asked(Principal.analyst(name), token, body=body))

    def check(self, seconds: float) -> None:
        """alice has six, and two of four threads; bob's begin beside them."""
        for _ in range(6):
            self.submit("alice")
        self.server.start()
        try:
            self.wait(seconds, alice=2)
            self.submit("bob")
            self.wait(seconds, alice=2, bob=1)
        finally:
            self.go.set()
        self.wait(120, alice=6, bob=1)

    def wait(self, seconds: float, **begun: int) -> None:
        until = time.monotonic() + seconds
        while self.begun != begun:
            assert time.monotonic() < until, f"waits: {self.begun}"
            time.sleep(0.01)


@pytest.fixture
def long(unserved: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Long]:
    made = Long(unserved.folder, monkeypatch)
    yield made
    made.server.close()


def test_long_jobs_leave_a_thread_to_others(long: Long) -> None:
    long.check(60)


def test_planted_bug_a_thread_takes_whatever_comes(long: Long, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "take_job", lambda *stated, real=Store.take_job: real(*stated[:3]))
    with pytest.raises(AssertionError, match="waits"):
        long.check(2)
