"""What FLINT keeps for each thread, some 230 kB of room for large numbers, is freed when the thread ends.

FLINT frees nothing by itself when a thread ends: a process whose threads come and go would grow with every one of them.
"""

from __future__ import annotations

import threading


class _Room:
    """FLINT's room for one thread, which drops what is its own as it ends."""

    def __init__(self) -> None:
        from flint import ctx

        self._free, self._thread = ctx.cleanup, threading.get_ident()

    def __del__(self) -> None:
        # In a forked child, and as the process ends, those of other threads are dropped too.
        if threading.get_ident() == self._thread:
            self._free()


_own = threading.local()


def freed_at_end() -> None:
    """This thread is about to compute with FLINT: what FLINT keeps for it is freed when it ends.

    Numbers that outlive their thread stay as they are.
    """
    if not hasattr(_own, "room"):
        _own.room = _Room()
