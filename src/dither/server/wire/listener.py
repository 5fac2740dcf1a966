"""The listener of one process: it accepts connections, each with a thread of its own, and bounds how many there are."""

from __future__ import annotations

import logging
import secrets
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread

from dither.errors import DitherError
from dither.server.metrics import Metrics
from dither.server.questions import Questions, key_of
from dither.server.throttle import Throttle
from dither.server.wire.asking import Asking
from dither.server.wire.cancelling import Cancels
from dither.server.wire.catalog.catalog import Catalog
from dither.server.wire.channel import Channel, Gone
from dither.server.wire.connection import Connection
from dither.server.wire.login.authentication import Cancel, Gate, Login
from dither.server.wire.options import stated_settings
from dither.server.wire.session import Session
from dither.server.wire.settings import Settings
from dither.server.wire.sqlstates import WireError, report_of

log = logging.getLogger("dither.server")

MOST_CONNECTIONS, MOST_OF_ONE, MOST_STRANGERS = 200, 40, 50  # in a process; of a principal; of those not known yet
_CLOSE_SECONDS = 25.0  # that statements under way have when the process ends


@dataclass(frozen=True)
class Services:
    """What connections are served with; all of it is also HTTP's."""

    questions: Questions
    throttle: Throttle
    metrics: Metrics


class Listener:
    """Listens at one address until it is closed."""

    def __init__(self, address: tuple[str, int], gate: Gate, services: Services, cancels: Path) -> None:
        self._gate, self._services = gate, services
        self._lock = Lock()
        self._strangers = 0
        self._threads: dict[Thread, Channel] = {}
        self._connections: dict[bytes, Connection] = {}
        self._closing = False
        self._pool = ThreadPoolExecutor(MOST_CONNECTIONS, "dither-pg-work")
        self._catalog = Catalog(services.questions.service)
        self._cancels = Cancels(cancels, self._cancel)
        self._socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # all processes that serve listen there
        self._socket.bind(address)
        self._socket.listen(128)
        self.port = int(self._socket.getsockname()[1])

    def start(self) -> None:
        self._catalog.warm()
        Thread(target=self._accept, name="dither-pg", daemon=True).start()

    def close(self) -> None:
        """Take nobody more; statements under way end first."""
        self._closing = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            open_ones = list(self._threads.items())
        for _, channel in open_ones:
            with suppress(OSError):
                # Not SSLSocket's own, which would go on without encryption.
                socket.socket.shutdown(channel.socket, socket.SHUT_RD)
        until = time.monotonic() + _CLOSE_SECONDS
        for thread, _ in open_ones:
            thread.join(max(0.0, until - time.monotonic()))
        self._cancels.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._catalog.close()

    def _accept(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(0.05)  # no more files, say
                continue
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            channel = Channel(connection)
            thread = Thread(target=self._serve, args=(channel,), name="dither-pg-client", daemon=True)
            with self._lock:
                room = self._strangers < MOST_STRANGERS and len(self._threads) < MOST_CONNECTIONS
                if room:
                    self._strangers += 1
                    self._threads[thread] = channel
            if room:
                thread.start()
            else:
                connection.close()

    def _serve(self, channel: Channel) -> None:
        """One connection, whatever becomes of it."""
        try:
            self._talk(channel)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001 - nothing of an error that nobody foresaw leaves
            if not isinstance(error, DitherError):
                log.error("internal error: %s", type(error).__name__)
            with suppress(Gone):
                channel.put(b"E", report_of(error, severity="FATAL").content())
                channel.flush()
        finally:
            channel.close()
            with self._lock:
                self._threads = {thread: one for thread, one in self._threads.items() if one is not channel}

    def _talk(self, channel: Channel) -> None:
        try:
            found = self._gate.enter(channel)
        finally:
            with self._lock:
                self._strangers -= 1
        if isinstance(found, Cancel):
            self._cancels.send(found.key)
            return
        with self._connected(channel, found) as connection:
            stated_settings(connection.settings, found.stated)
            connection.greet()
            Session(connection, self._services.metrics).serve()

    @contextmanager
    def _connected(self, channel: Channel, login: Login) -> Iterator[Connection]:
        key = struct.pack("!iI", secrets.randbits(31), secrets.randbits(32))
        settings = Settings()
        connection = Connection(
            channel,
            login,
            Asking(self._services.questions, login.token.principal, login.token.id, settings),
            settings,
            self._catalog,
            self._gate.tokens,
            self._services.throttle,
            self._pool,
            key,
        )
        whose = key_of(login.token.principal)
        with self._lock:
            of_one = Counter(key_of(one.login.token.principal) for one in self._connections.values())[whose]
            if of_one >= MOST_OF_ONE:
                raise WireError("53300", f"one principal has at most {MOST_OF_ONE} connections.")
            self._connections[key] = connection
        try:
            yield connection
        finally:
            with self._lock:
                del self._connections[key]

    def _cancel(self, key: bytes) -> None:
        with self._lock:
            found = self._connections.get(key)
        if found is not None:
            found.cancel()
