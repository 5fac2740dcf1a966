"""How often and how many at once one principal may ask, decided before a body is read; and who gets a thread next."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from anyio import CapacityLimiter, Event, to_thread

from dither.engines.duckdb.slots import Slots
from dither.errors import DitherError

T = TypeVar("T")


class TooMany(DitherError):
    """The principal asks too often, or too much at once. Nothing was charged."""

    code, fields = "too_many_requests", ("retry_after",)

    def __init__(self, retry_after: int) -> None:
        super().__init__("too many requests; nothing was charged. Try again later.")
        self.retry_after = retry_after


@dataclass
class _Bucket:
    """A token bucket: it holds `full` at most, and refills by `rate` a second."""

    left: float
    seen: float
    running: int = 0


@dataclass
class Throttle:
    """Each principal has `burst` requests at once, `rate` more each second, and at most `concurrent` under way."""

    rate: float = 50.0
    burst: int = 200
    concurrent: int = 32
    now: Callable[[], float] = time.monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def request(self, principal: str) -> Iterator[None]:
        """Room for one request of this principal; TooMany if there is none."""
        with self._lock:
            bucket = self._buckets.setdefault(principal, _Bucket(float(self.burst), self.now()))
            now = self.now()
            bucket.left = min(float(self.burst), bucket.left + (now - bucket.seen) * self.rate)
            bucket.seen = now
            if bucket.left < 1 or bucket.running >= self.concurrent:
                raise TooMany(max(1, round((1 - bucket.left) / self.rate)))
            bucket.left -= 1
            bucket.running += 1
        try:
            yield
        finally:
            with self._lock:
                bucket.running -= 1


def computing(most: int) -> Callable[[str | None], AbstractContextManager[None]]:
    """Turns of analysts (None: the curator) at computing, of whom so many do at once; those with fewest come next."""
    slots = Slots(lambda: most)

    @contextmanager
    def turn(analyst: str | None) -> Iterator[None]:
        slots.take(analyst, None)
        try:
            yield
        finally:
            slots.give(analyst)

    return turn


@dataclass(eq=False)
class _Waiting:
    """A request that waits for its turn."""

    principal: str
    turn: Event = field(default_factory=Event)


class Turns:
    """So many threads for the requests of all principals; used from one event loop.

    A principal gets another thread only as long as more than it has are free. So one alone has half of them, a second
    one half of the rest, and so on, however long the requests of the others take; with few threads the last are soon
    taken, and whoever has the fewest comes next.

    With `patience` another thread is given only once all that run have run for so many seconds: threads that compute at
    once hinder each other, so what is short is done one after the other, and what is long holds up nobody.
    """

    def __init__(self, most: int, patience: float = 0.0) -> None:
        self._most, self._threads, self._patience = most, CapacityLimiter(most), patience
        self._taken = Counter[str]()
        self._waiting: list[_Waiting] = []  # in the order they came
        self._newest, self._looks = 0.0, False  # when a thread was last given, and whether that is looked at again

    async def run(self, principal: str, work: Callable[..., T], *stated: Any) -> T:
        """What `work` returns, in a thread, once it is the principal's turn."""
        async with self._turn(principal):
            return await to_thread.run_sync(work, *stated, limiter=self._threads)

    @asynccontextmanager
    async def _turn(self, principal: str) -> AsyncIterator[None]:
        waiting = _Waiting(principal)
        self._waiting.append(waiting)
        try:
            self._give()
            if not waiting.turn.is_set():
                await waiting.turn.wait()
            yield
        finally:
            if waiting.turn.is_set():
                self._taken[principal] -= 1
            else:
                self._waiting.remove(waiting)
            self._give()

    def _give(self) -> None:
        """Turns to those who may have one now: first to who has the fewest, then to who came first."""
        while self._waiting and not self._hinders():
            free = self._most - self._taken.total()
            able = [one for one in self._waiting if self._taken[one.principal] < free]
            if not able:
                return
            chosen = min(able, key=lambda one: self._taken[one.principal])
            self._waiting.remove(chosen)
            self._taken[chosen.principal] += 1
            self._newest = time.monotonic()
            chosen.turn.set()

    def _hinders(self) -> bool:
        """Whether another thread would hinder one that was given just now; it is looked at again when it may not."""
        left = self._newest + self._patience - time.monotonic() if self._taken.total() else 0.0
        if left > 0 and not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(left, self._look)
        return left > 0

    def _look(self) -> None:
        self._looks = False
        self._give()
