"""Warm worker processes: each runs one statement at a time, and there are never more than the policy says.

They are started by `subprocess`, so that a statement that has to be stopped takes nothing of this process with it.
Threads share them; a fork starts its own.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dither.engines.duckdb.slots import Slots
from dither.engines.duckdb.spill import SPILL, make_folder
from dither.engines.duckdb.wire import Hangup, receive_into, receive_length, receive_words, send, send_words
from dither.engines.protocol import EngineError, StatementStopped
from dither.errors import PolicyError

_START = 60.0  # seconds that a worker has to start
_LEAST = 0.001  # seconds that a socket can be waited for
_WALL = 10  # times the seconds of computing: so long may a statement take while others keep the machine busy
_NO_WORKER = "no worker process could be started to run the question; nothing was charged."


@dataclass(frozen=True)
class Terms:
    """What a worker may take for one statement, and how its engine is configured."""

    memory: int
    seconds: int
    config: dict[str, Any]
    most_spilled: str


class Process:
    """A worker process as its parent sees it."""

    def __init__(self, folder: Path, terms: Terms) -> None:
        self.terms, self._said_ready = terms, False
        spill, lock = make_folder(folder.absolute(), SPILL)
        self._channel, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dither.engines.duckdb.worker"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what an engine says may quote data
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                pass_fds=(lock,),  # held as long as the worker lives
                start_new_session=True,  # an interrupt at the terminal is its parent's to deal with
            )
        except BaseException:
            self._channel.close()
            shutil.rmtree(spill, ignore_errors=True)
            raise
        finally:
            theirs.close()
            os.close(lock)
        self.begin()
        self._end = weakref.finalize(self, _ended, os.getpid(), self._process, self._channel, spill)
        _processes.add(self)
        with suppress(OSError):
            send_words(self._channel, {**asdict(terms), "spill": str(spill), "parent": os.getpid()})

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def ready(self) -> bool:
        """Whether it waits for a statement; one that is starting is waited for."""
        if not self._end.alive:
            return False
        with suppress(Hangup, OSError):
            if not self._said_ready:
                self._channel.settimeout(_START)
                self._said_ready = receive_words(self._channel) == {"said": "ready"}
            hangs_up = select.poll()
            hangs_up.register(self._channel, select.POLLIN)  # it says nothing unless it is asked
            return self._said_ready and not hangs_up.poll(0)
        return False

    def begin(self) -> None:
        """From here on all statements together have the time of one question."""
        self._first, self._deadline = True, time.monotonic() + _WALL * self.terms.seconds

    def ask(self, words: dict[str, Any], frames: Sequence[Any] = ()) -> Any:
        """The result of a statement as an Arrow table. StatementStopped if it took too much, or if the worker died.

        `frames` are the contents of the tables that `words` names.
        """
        result, spent = None, True
        first, self._first = self._first, False
        try:
            self._channel.settimeout(max(self._deadline - time.monotonic(), _LEAST))
            send_words(self._channel, {**words, "first": first})
            for frame in frames:
                send(self._channel, frame)
            said = receive_words(self._channel)
            if said["said"] == "answered":
                self._channel.settimeout(max(self._deadline - time.monotonic(), _START))
                result = self._receive()
            spent = said["spent"]
        except (Hangup, OSError):
            said = {"said": "stopped"}
        finally:
            if spent:  # also if this is interrupted: what it would say next belongs to nobody
                self.close()
        if result is None:
            raise StatementStopped if said["said"] == "stopped" else EngineError(said.get("why", ""))
        return result

    def _receive(self) -> Any:
        import pyarrow as pa

        place = pa.allocate_buffer(receive_length(self._channel, self.terms.memory))
        receive_into(self._channel, place)
        return pa.ipc.open_stream(place).read_all()

    def close(self) -> None:
        """End it, whatever it does, and remove what it has written."""
        self._end()


def _ended(parent: int, process: subprocess.Popen[bytes], channel: socket.socket, spill: Path) -> None:
    channel.close()
    if os.getpid() != parent:  # it belongs to the process that this one was forked from
        process.returncode = 0
        return
    process.kill()
    process.wait()
    shutil.rmtree(spill, ignore_errors=True)


class Member(Protocol):
    """What runs the statements of one thread at a time: a process, or a connection to a server."""

    @property
    def terms(self) -> Any: ...

    def ready(self) -> bool: ...

    def begin(self) -> None: ...

    def close(self) -> None: ...


_Member = TypeVar("_Member", bound=Member)


class Pool(Generic[_Member]):
    """The members that one engine has at most: a thread that runs a statement has one of them to itself."""

    def __init__(self, start: Callable[[Any], _Member], terms: Callable[[], Any], most: Callable[[], int]) -> None:
        self._start, self._terms, self._most, self._ahead = start, terms, most, 1
        self._begin()
        _pools.add(self)

    def _begin(self) -> None:
        self._slots, self._lock = Slots(self._most), threading.Lock()
        self._places = Slots(lambda: self._most() * self._ahead)
        self._idle: list[_Member] = []
        self._own = threading.local()

    def warm(self) -> None:
        """Have a worker start while other things are done, if none was started yet."""
        with self._lock:
            if not self._idle and not self._slots.taken:
                with suppress(OSError):
                    self._idle.append(self._start(self._terms()))

    def charge_ahead(self, times: int) -> None:
        """From now on there are so many times more places than workers."""
        self._ahead = times

    @contextmanager
    def place(self, analyst: str | None, patience: float | None) -> Iterator[None]:
        """A place near a worker, whose slot then comes for certain; if there are no more places than workers, a slot.

        Busy if the analyst gets none within so many seconds.
        """
        if self._ahead == 1:
            with self.slot(analyst, patience):
                yield
            return
        self._places.take(analyst, patience)
        try:
            self._own.placed = True
            yield
        finally:
            self._own.placed = False
            self._places.give(analyst)

    @contextmanager
    def slot(self, analyst: str | None = None, patience: float | None = None) -> Iterator[_Member]:
        """A worker for this thread alone, alive and ready; Busy if the analyst gets none within so many seconds.

        Who has a place waits as long as it takes: that question is charged already.
        """
        held: _Member | None = getattr(self._own, "process", None)
        if held is not None:
            yield held
            return
        self._slots.take(analyst, None if getattr(self._own, "placed", False) else patience)
        try:
            process = self._ready()
            try:
                self._own.process = process
                process.begin()
                yield process
            finally:
                self._own.process = None
                self._put_back(process)
        finally:
            self._slots.give(analyst)

    def close(self) -> None:
        """End those that wait; those that run a statement end when they have answered."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()

    def _ready(self) -> _Member:
        terms = self._terms()
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            try:
                fresh = process is None
                process = process or self._start(terms)
            except OSError:
                raise PolicyError(_NO_WORKER) from None
            if process.terms == terms and process.ready():
                return process
            process.close()
            if fresh:
                raise PolicyError(_NO_WORKER)

    def _put_back(self, process: _Member) -> None:
        if process.ready():
            with self._lock:
                self._idle.append(process)
        else:
            process.close()


class Workers(Pool[Process]):
    """The worker processes of one engine."""

    def __init__(self, folder: Path, terms: Callable[[], Terms], most: Callable[[], int]) -> None:
        super().__init__(lambda terms: Process(folder, terms), terms, most)


_processes: weakref.WeakSet[Process] = weakref.WeakSet()
_pools: weakref.WeakSet[Pool[Any]] = weakref.WeakSet()


def _forget_all() -> None:
    """After a fork, in the child."""
    for process in list(_processes):
        process.close()
    for pool in list(_pools):
        pool._begin()


os.register_at_fork(after_in_child=_forget_all)
