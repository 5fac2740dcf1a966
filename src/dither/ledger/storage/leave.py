"""Leave to charge: for whoever may lose it while a question waits, it is looked at again when the charge is made.

Within the transaction that charges, so that nothing lies between the look and the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Leave = Callable[[], None]  # raises if there is none any more; then nothing is charged


def always() -> None:
    """Of whoever has opened the ledger: there is nobody who could take it away."""


_leave: ContextVar[Leave] = ContextVar("leave", default=always)
leave_now = _leave.get


@contextmanager
def charging_by(leave: Leave) -> Iterator[None]:
    """Charges of this thread are made by this leave."""
    before = _leave.set(leave)
    try:
        yield
    finally:
        _leave.reset(before)
