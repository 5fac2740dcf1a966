"""The working precision of ball arithmetic: one number for the whole process, so one lock around every use of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dither.exact.threads import freed_at_end

_lock = threading.RLock()


def _fresh_lock() -> None:
    # A child forked while another thread held the lock would wait for it forever.
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Evaluate the block with `bits` bits. No other thread can change them meanwhile, or be left with them.

    Lower precision widens balls; it never makes them wrong.
    """
    from flint import ctx

    freed_at_end()
    with _lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before
