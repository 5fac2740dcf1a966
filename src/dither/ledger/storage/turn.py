"""The queue of those who write to one file of SQLite: the system's own, of all processes.

SQLite's own lock is asked for again and again, by chance, and given up after a while.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dither.errors import LedgerError


@contextmanager
def turn_at(path: Path) -> Iterator[None]:
    """Wait until it is this writer's turn at the file; whoever has it dies with it."""
    try:
        descriptor = os.open(path.with_name(f"{path.name}-turn"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
