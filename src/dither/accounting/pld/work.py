"""A bound on how much is computed for one reading of a curve, counted in operations: the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# About two seconds of one core. What begins is finished, so a reading may take a little more.
MOST = 150_000_000

_spent: ContextVar[list[int] | None] = ContextVar("spent", default=None)


@contextmanager
def budget() -> Iterator[None]:
    """Within it, work is counted from 0."""
    token = _spent.set([0])
    try:
        yield
    finally:
        _spent.reset(token)


def charge(operations: int) -> None:
    """Count so many elementary operations."""
    counter = _spent.get()
    if counter is not None:
        counter[0] += operations


def spent() -> int:
    """How many operations were counted since the reading began."""
    counter = _spent.get()
    return 0 if counter is None else counter[0]


def exhausted() -> bool:
    """Whether nothing more should be begun: the bounds found so far stand."""
    return spent() > MOST
