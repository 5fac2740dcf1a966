"""What the admin listener serves, and how it is kept running.

It is a process of its own, which adds up what all processes that serve have counted, and ends with the one that
started it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from dither.server.endpoints import ADMINISTRATOR, AUDITOR, CURATOR, MONITOR, Asked, Endpoint, Reply
from dither.server.metrics import Sums

_PROCESS = "dither.server.admin_listener.process"
_PAUSE = 0.5  # seconds until a listener that died is started again


def endpoints(sums: Sums) -> tuple[Endpoint, ...]:
    """What can be asked of the admin listener."""

    def metrics(asked: Asked) -> Reply:
        return Reply(sums.text().encode(), "text/plain; version=0.0.4")

    readers = (CURATOR, AUDITOR, ADMINISTRATOR, MONITOR)
    return (Endpoint("GET", "/metrics", readers, "Counts of requests and jobs.", metrics, media_types=("text/plain",)),)


@contextmanager
def listening(order: dict[str, Any]) -> Iterator[str]:
    """A listener as ordered, started again if it dies; the path to send counts to."""
    ended = Event()
    with tempfile.TemporaryDirectory(prefix="dither-") as folder:
        path = str(Path(folder) / "counts")
        children: list[subprocess.Popen[bytes]] = []
        keeper = Thread(target=_keep, args=({**order, "counts": path}, ended, children), daemon=True)
        keeper.start()
        try:
            yield path
        finally:
            ended.set()
            for child in children:
                child.terminate()
            keeper.join()


def _keep(order: dict[str, Any], ended: Event, children: list[subprocess.Popen[bytes]]) -> None:
    while not ended.is_set():
        Path(order["counts"]).unlink(missing_ok=True)
        command = [sys.executable, "-P", "-m", _PROCESS, json.dumps(order)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as child:  # its input ends with this process
            children[:] = [child]
            if ended.is_set():
                child.terminate()
            child.wait()
        ended.wait(_PAUSE)


def serve(order: dict[str, Any], application: Callable[[dict[str, Any], Sums], Any]) -> None:
    """Serve until whoever started this process ends."""
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the one that started this one decides
    sums = Sums()
    Thread(target=_end_with_input, daemon=True).start()
    Thread(target=sums.receive, args=(order["counts"],), daemon=True).start()
    certificate, key = (None if path is None else Path(path) for path in (order["certificate"], order["key"]))
    made = Server(
        application(order, sums),
        address=order["host"],
        port=order["port"],
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        http1_settings=HTTP1Settings(header_read_timeout=10_000, max_buffer_size=16 * 1024),
        ssl_cert=certificate,
        ssl_key=key,
        log_enabled=False,
    )
    asyncio.run(made.serve())


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
