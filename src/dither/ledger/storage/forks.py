"""A connection must not cross a fork: the child would share its file, and believe in locks that it does not hold."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol


class Connected(Protocol):
    """What has a connection, guarded by a lock of its own."""

    _lock: Any

    def _disconnect(self) -> None: ...


_watched: weakref.WeakSet[Connected] = weakref.WeakSet()
_held: list[Connected] = []
_forking = threading.Lock()


def watch(connected: Connected) -> None:
    """Close its connection before every fork; it is opened again on both sides when needed."""
    _watched.add(connected)


def _before_fork() -> None:
    _forking.acquire()
    for connected in list(_watched):
        connected._lock.acquire()
        _held.append(connected)
        connected._disconnect()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
