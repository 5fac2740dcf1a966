"""Processes that listen over HTTP: one way to start them, for the curator, aggregators of studies and look-ups."""

from __future__ import annotations

import errno
import ipaddress
import os
import resource
import signal
import socket
import stat
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.errors import ParameterError

_PATIENCE = 5.0  # seconds that processes of a server that was killed have to let its port go
_CONNECTIONS = 1024  # that are open at once, of all processes together
_TAKING_SECONDS = 20  # that a connection has whose peer takes nothing of what is sent
_HEADER_BYTES = 16 * 1024
_HEADER_SECONDS = 10
_BODY_SECONDS = 60
SHUTDOWN_SECONDS = 30  # that requests under way have; what is charged by then is settled when it is asked for again
_LOOK = 1.0  # seconds between two looks at whether the process that started this one is still there


@dataclass(frozen=True)
class Listening:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    plaintext: bool = False

    def check(self) -> None:
        """Refuse to speak in the clear over a network."""
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("TLS takes two files: --certificate and --key.")
        if self.certificate is None and not self.plaintext and not loopback(self.host):
            raise ParameterError(
                f"{self.host} can be reached over a network, where nothing may go in the clear: "
                "give --certificate and --key, or --plaintext if a proxy in front of this one speaks TLS."
            )


def check_free(host: str, port: int) -> None:
    """Refuse a port that another process listens at: both would get requests, and one of them know no token."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise ParameterError(f"cannot listen at {host}, port {port}: {error.strerror}; see --port.") from None
        except OverflowError:
            raise ParameterError(f"a port is 0 to 65535; got {port}.") from None
        time.sleep(0.1)


def loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def connections(workers: int) -> int:
    """How many connections each process holds at once: they leave half of the files that it may open to what it does.

    It may open as many as the system lets it; those that come beyond are accepted when others end.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(_CONNECTIONS // workers, allowed // 2 if allowed > 0 else _CONNECTIONS))


def not_for_ever(made: Any) -> Any:
    """An ASGI application whose connections end if their peer takes nothing of what is sent.

    What was handed over to be sent is out of an application's sight, and would be kept as long as the peer likes.
    """
    told = False

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        nonlocal told
        if not told and scope.get("server"):
            told = True
            _end_what_nobody_takes(int(scope["server"][1]))
        await made(scope, receive, send)

    return wrapped


def _end_what_nobody_takes(port: int) -> None:
    """Tell the system, for what is connected at a port and for what listens there, which passes it on.

    These sockets are looked for, since none of ours made them. Other files are not touched: closing a second
    descriptor of one would drop its locks.
    """
    for name in os.listdir("/proc/self/fd") if hasattr(socket, "TCP_USER_TIMEOUT") else ():
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as found:
                    if found.family in (socket.AF_INET, socket.AF_INET6) and found.getsockname()[1] == port:
                        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _TAKING_SECONDS * 1000)


def header_limits() -> Any:
    """How many bytes of headers are read, and for how long."""
    from granian.http import HTTP1Settings

    return HTTP1Settings(header_read_timeout=_HEADER_SECONDS * 1000, max_buffer_size=_HEADER_BYTES)


def processes(application: str, where: Any, workers: int = 1) -> Any:
    """Granian, not yet started: each process calls `application`, and one that dies is started again.

    `where` has host, port, certificate and key, as `Listening`.
    """
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces

    certificate, key = (None if path is None else Path(path) for path in (where.certificate, where.key))
    return Granian(
        application,
        factory=True,
        address=where.host,
        port=where.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=workers,
        backpressure=connections(workers),
        respawn_failed_workers=True,
        respawn_interval=0.5,
        workers_kill_timeout=SHUTDOWN_SECONDS,
        http1_settings=header_limits(),
        ssl_cert=certificate,
        ssl_key=key,
        log_enabled=False,
    )


def end_with_parent() -> None:
    """Let this process end with the one that started it."""

    def look(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, args=(os.getppid(),), daemon=True).start()


async def body_of(request: Any, most: int) -> bytes:
    """The body of a request, of at most so many bytes and in time."""
    from anyio import fail_after
    from starlette.requests import ClientDisconnect

    found = bytearray()
    try:
        with fail_after(_BODY_SECONDS):
            async for part in request.stream():
                found += part
                if len(found) > most:
                    raise ParameterError(f"the body of this request has at most {most} bytes.")
    except (TimeoutError, ClientDisconnect):
        raise ParameterError("the body did not arrive in time.") from None
    return bytes(found)
