"""A small connection pooler: every transaction of a client may run on another connection to the server."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path


class Pooler:
    """Listens on a socket of its own; answers a client's start by itself, as poolers do."""

    def __init__(self, folder: Path, server: Path, *, honest: bool) -> None:
        self._server, self._honest = server, honest
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self.turns = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError):
            (length,) = struct.unpack(">I", _exactly(client, 4))
            start = struct.pack(">I", length) + _exactly(client, length - 4)
            pool = [self._open(start) for _ in range(2)]
            client.sendall(pool[0][1])
            with pool[0][0], pool[1][0]:
                while True:
                    self.turns += 1
                    self._transaction(client, pool[0 if self._honest else self.turns % 2][0])

    def _open(self, start: bytes) -> tuple[socket.socket, bytes]:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._server / ".s.PGSQL.5432"))
        server.sendall(start)
        greeting = b""
        while True:
            kind, message = _message(server)
            greeting += message
            if kind == b"Z":
                return server, greeting

    def _transaction(self, client: socket.socket, server: socket.socket) -> None:
        """Until the server says that no transaction is under way."""
        while True:
            kind, message = _message(client)
            server.sendall(message)
            if kind == b"X":
                raise EOFError
            if kind not in (b"Q", b"S"):
                continue
            while True:
                kind, message = _message(server)
                client.sendall(message)
                if kind == b"Z":
                    break
            if message[-1:] == b"I":
                return


def _message(end: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(end, 5)
    (length,) = struct.unpack(">I", head[1:])
    return head[:1], head + _exactly(end, length - 4)


def _exactly(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = end.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found
