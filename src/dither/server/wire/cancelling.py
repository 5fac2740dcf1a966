"""Cancelling: a request comes on a connection of its own, perhaps to another process than the one that has the work.

Each process has a socket in one folder, and sends what it is asked to cancel to all of them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

KEY_BYTES = 8


class Cancels:
    """Receives keys of connections for `cancel`, until it is closed."""

    def __init__(self, folder: Path, cancel: Callable[[bytes], None]) -> None:
        self._folder, self._cancel = folder, cancel
        self._own = folder / str(os.getpid())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._own.unlink(missing_ok=True)
        self._socket.bind(str(self._own))
        Thread(target=self._receive, name="dither-pg-cancel", daemon=True).start()

    def send(self, key: bytes) -> None:
        """To all processes that serve; those that have died do not hear it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            for path in self._folder.iterdir():
                with suppress(OSError):
                    out.sendto(key, str(path))

    def _receive(self) -> None:
        while True:
            try:
                key = self._socket.recv(KEY_BYTES + 1)
            except OSError:
                return
            self._cancel(key)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._own.unlink(missing_ok=True)
