"""Changes that wait at the same time share one durable commit.

A sync takes as long for one change as for many. Where many questions are under way at once, whoever is about to commit
waits for some of them to join: never longer than its own question has taken so far, so that a server with little to do
does not wait at all, and one that is busy syncs seldom.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Condition, Lock, get_ident
from typing import Any, Generic, TypeVar

from dither.errors import DitherError, LedgerError

T = TypeVar("T")
P = TypeVar("P")
_MOST = 128  # changes that one commit makes durable
_SHARE = 2  # a commit waits for one in so many of the questions under way
_PATIENCE = 0.5  # seconds that it waits at most
_asking: dict[int, float] = {}  # threads with a question under way, and since when


@contextmanager
def asking() -> Iterator[None]:
    """This thread has a question under way, whose commits may wait for those of others that have one too."""
    _asking[get_ident()] = time.monotonic()
    try:
        yield
    finally:
        _asking.pop(get_ident(), None)


@contextmanager
def apart() -> Iterator[None]:
    """Meanwhile this thread joins no commit, so that none waits for it: it waits itself for who commits, say."""
    since = _asking.pop(get_ident(), None)
    try:
        yield
    finally:
        if since is not None:
            _asking[get_ident()] = since


@dataclass
class Member(Generic[P, T]):
    """A change that waits for its turn, and what became of it."""

    change: Callable[[P], T]
    ended: bool = False
    error: Exception | None = None
    value: T | None = None

    def run(self, page: P, undoing: Callable[[P], AbstractContextManager[None]]) -> None:
        """Make the change, or none of it if it is refused."""
        try:
            with undoing(page):
                self.value = self.change(page)
        except DitherError as error:
            self.error = error

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class Together(Generic[P]):
    """Whoever comes first makes the changes of all who wait, one after the other in one transaction.

    `transaction` is durable when it ends; `undoing` takes back what is done inside it if that is refused, and only
    that. If the transaction fails, no change stands.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[P]],
        undoing: Callable[[P], AbstractContextManager[None]],
    ) -> None:
        self._transaction, self._undoing = transaction, undoing
        self.begin_afresh()
        _all.add(self)

    def begin_afresh(self) -> None:
        """Nobody waits: at the beginning, and in a child of this process, which has none of its threads."""
        self.waiting: deque[Member[P, Any]] = deque()
        self.leading, self.arrival = Lock(), Condition()

    def write(self, change: Callable[[P], T]) -> T:
        """Make a change, durable on return."""
        member = Member(change)
        with self.arrival:
            self.waiting.append(member)
            self.arrival.notify()
        with self.leading:
            if not member.ended:
                self._gather()
                self._lead()
        return member.result()

    def _gather(self) -> None:
        """Wait for others to join, if there are many; for as long again as the own question has taken, at most."""
        now = time.monotonic()
        left = min(now - _asking.get(get_ident(), now), _PATIENCE)
        enough = min(len(_asking) // _SHARE, _MOST)
        with self.arrival:
            self.arrival.wait_for(lambda: len(self.waiting) >= enough, left)

    def _lead(self) -> None:
        members = [self.waiting.popleft() for _ in range(min(len(self.waiting), _MOST))]
        try:
            with self._transaction() as page:
                for member in members:
                    member.run(page, self._undoing)
        except LedgerError as error:
            for member in members:
                member.error = type(error)(str(error))
        except BaseException:
            for member in members:
                member.error = LedgerError("the ledger was interrupted; what was asked for may not be recorded.")
            raise
        finally:
            for member in members:
                member.ended = True


_all: weakref.WeakSet[Together[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    _asking.clear()
    for together in _all:
        together.begin_afresh()


os.register_at_fork(after_in_child=_after_fork)
