"""Threat 59: questions that overlap for ever hold back no change of the tables.

Who goes first is told by events, never by the clock: a lock is first tried without waiting, so a thread or process
that has to wait says so before it does.
"""

from __future__ import annotations

import fcntl
import inspect
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from threats_clinic import COUNT, patients

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import PolicyError
from dither.policy import store
from dither.policy.store import PolicyFile


class Locks:
    """fcntl.flock, which tells its events who waits at which lock, and then waits."""

    LOCK_SH, LOCK_EX, LOCK_UN = fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say = say

    def flock(self, descriptor: int, how: int) -> None:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            self.say("waits")
            fcntl.flock(descriptor, how)


class Actor:
    """Somebody in a thread of its own, who goes into a lock, says so, and leaves it when told to."""

    def __init__(self, name: str, lock: Callable[[], AbstractContextManager[None]], told: Any) -> None:
        self.name, self._lock, self._told = name, lock, told
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._act, name=name, daemon=True)

    def _act(self) -> None:
        with self._lock():
            self._told.put((self.name, "in"))
            self._leave.wait()

    def __enter__(self) -> Actor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        self._leave.set()
        self._thread.join()


class Process(Actor):
    """The same in a process of its own, which is told what to do and tells what it did line by line."""

    def __init__(self, name: str, folder: Path, told: Any) -> None:
        script = f"""
from __future__ import annotations
import fcntl, sys
from pathlib import Path
from dither.policy import store as policy
{inspect.getsource(Locks)}
policy.fcntl = Locks(lambda what: print(what, flush=True))
with policy.PolicyFile(Path(sys.argv[1])).shared():
    print("in", flush=True)
    sys.stdin.readline()
"""
        self.name, self._told = name, told
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._thread = threading.Thread(target=self._relay, daemon=True)

    def _relay(self) -> None:
        for line in self._process.stdout or ():
            self._told.put((self.name, line.strip()))

    def leave(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # the end of its orders
        self._thread.join()
        self._process.stdout.close()
        self._process.wait()


def check_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions are under way, a refresh asks to change the tables, and four more questions come."""
    told: Any = queue.Queue()
    monkeypatch.setattr(store, "fcntl", Locks(lambda what: told.put((threading.current_thread().name, what))))
    file = PolicyFile(folder)

    def question(number: int) -> Actor:
        name = f"question {number}"
        return Process(name, folder, told) if number % 2 else Actor(name, file.shared, told)

    refresh, inside, late = Actor("refresh", file.exclusive, told), ExitStack(), ExitStack()
    with late, inside:
        for number in range(4):
            actor = inside.enter_context(question(number))
            assert told.get() == (actor.name, "in")
        late.enter_context(refresh)
        assert told.get() == ("refresh", "waits")
        for number in range(4, 8):
            actor = late.enter_context(question(number))
            assert told.get() == (actor.name, "waits"), "a question overtook the refresh"
        inside.close()
        assert told.get() == ("refresh", "in"), "a question overtook the refresh"
        refresh.leave()
        assert sorted(told.get() for _ in range(4)) == [(f"question {number}", "in") for number in range(4, 8)]


def test_a_waiting_change_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_order(tmp_path, monkeypatch)


@contextmanager
def _only(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        store.fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def test_planted_one_lock_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: questions share a lock, and a change waits until nobody happens to hold it."""
    monkeypatch.setattr(PolicyFile, "shared", lambda self: _only(self._snapshots_lock, fcntl.LOCK_SH))
    monkeypatch.setattr(PolicyFile, "exclusive", lambda self: _only(self._snapshots_lock, fcntl.LOCK_EX))
    with pytest.raises(AssertionError, match="a question overtook the refresh"):
        check_order(tmp_path, monkeypatch)


def test_a_killed_change_holds_nobody_back(tmp_path: Path) -> None:
    """The kernel lets go of what a killed process held."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with PolicyFile(tmp_path).exclusive():
            os.write(write, b"x")
            signal.pause()
    os.read(read, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)
    with PolicyFile(tmp_path).shared():
        pass
    with PolicyFile(tmp_path).exclusive():
        pass


def check_fork(folder: Path) -> None:
    """A process is forked inside of the lock and lives on; the lock is tried, and not waited for."""
    read, write = os.pipe()
    with PolicyFile(folder).shared():
        child = os.fork()
        if not child:
            os.close(write)
            os.read(read, 1)  # until the parent has looked
            os._exit(0)
    try:
        with open(folder / "steady.lock", "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pytest.fail("a fork holds the lock of a question that has ended")
    finally:
        os.close(write)
        os.close(read)
        os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_holds_nobody_back(tmp_path: Path) -> None:
    check_fork(tmp_path)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_let_go_of_its_parents_lock(tmp_path: Path) -> None:
    """It may leave the block that it was forked in."""
    with PolicyFile(tmp_path).exclusive():
        parent = os.getpid()
        with suppress(PolicyError), PolicyFile(tmp_path).locked():
            if not os.fork():
                raise PolicyError("leaves")
        if os.getpid() != parent:
            os._exit(0)
        os.wait()
        with open(tmp_path / "steady.lock", "r+b") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_planted_locks_that_a_fork_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a lock is let go of by closing it, though a fork has a copy."""
    monkeypatch.setattr(store, "_held", _only)
    with pytest.raises(pytest.fail.Exception, match="a fork holds the lock"):
        check_fork(tmp_path)


def test_refreshes_under_eight_streams_of_questions(clinic: Curator) -> None:
    """The streams go on until all is done, and none of it waits for a pause between them."""
    analysts = [clinic.analyst(f"stream{number}", budget=PureDP("0.25")) for number in range(8)]
    done, asked = threading.Event(), [0] * 8

    def stream(number: int) -> None:
        with suppress(PolicyError):  # the table is gone in the end
            while not done.is_set():
                analysts[number].sql(COUNT, epsilon="0.01", request=f"r{asked[number] % 20}")
                asked[number] += 1

    threads = [threading.Thread(target=stream, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    try:
        for older in range(3):
            clinic.refresh("visits", patients(older=older))
        assert all(thread.is_alive() for thread in threads), "every question was answered"
        clinic.drop("visits")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert [table.name for table in clinic.tables()] == []
