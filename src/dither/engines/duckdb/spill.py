"""Folders for what a process writes while it works, private to their owner; what a killed one left is removed.

A process holds the lock of its folder for as long as it lives, so that a folder whose lock is free is nobody's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

LOADING, SPILL, UPLOADED = ".loading-", ".spill-", ".uploaded-"
_LOCK = "lock"


def make_folder(within: Path, prefix: str) -> tuple[Path, int]:
    """A new folder (0700) and the descriptor that holds its lock until the last copy of it is closed."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        descriptor = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (made / _LOCK).exists():
            return made, descriptor
        os.close(descriptor)  # another process took it for abandoned before it was locked


def remove_abandoned(within: Path) -> None:
    """Remove the folders of processes that have ended."""
    for prefix in (LOADING, SPILL, UPLOADED):
        for left in within.glob(f"{prefix}*"):
            _remove_if_abandoned(left)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        with open(folder / _LOCK, "r+", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return
