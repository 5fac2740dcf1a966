"""`dither serve`: processes that all serve one folder, started again if one of them dies."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from anyio import CapacityLimiter

from dither.curator.curator import Curator
from dither.errors import ParameterError
from dither.server import administration, jobs, questions
from dither.server.administration import Administration
from dither.server.app import Door, application
from dither.server.data_files import Uploads
from dither.server.jobs import Jobs
from dither.server.metrics import Metrics
from dither.server.questions import Questions
from dither.server.store import Store
from dither.server.throttle import Throttle
from dither.server.tokens import Tokens

_VARIABLE = "DITHER_SERVE"  # by which a process that is started learns what to serve
_HEADER_BYTES = 16 * 1024
_HEADER_SECONDS = 10
_SHUTDOWN_SECONDS = 30  # that requests under way have; what is charged by then is settled when it is asked for again


@dataclass(frozen=True)
class Settings:
    """What to serve, and where and how to listen."""

    folder: str
    anchor: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    plaintext: bool = False
    data_root: str | None = None
    upload_quota: int = 2 * 2**30
    remote_admin: bool = False
    processes: int = 1
    threads: int = 40
    rate: float = 50.0
    burst: int = 200

    def check(self) -> None:
        """Refuse to send tokens in the clear over a network."""
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("TLS takes two files: --certificate and --key.")
        if self.certificate is None and not self.plaintext and not _loopback(self.host):
            raise ParameterError(
                f"{self.host} can be reached over a network, where tokens and answers must not go in the clear: give "
                "--certificate and --key, or --plaintext if a proxy in front of this one speaks TLS."
            )

    @property
    def address(self) -> str:
        return f"{'http' if self.certificate is None else 'https'}://{self.host}:{self.port}"


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def free_port(host: str) -> int:
    """A port that nothing listens on now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


class Server:
    """One process: the curator of a folder with everything that serving it takes."""

    def __init__(self, settings: Settings) -> None:
        from pathlib import Path

        folder = Path(settings.folder)
        self.curator = Curator.open(folder, create=False, anchor=settings.anchor)
        self.store = Store(folder)
        self.tokens = Tokens(self.store)
        asked = Questions(self.curator.service, self.store)
        self.metrics = Metrics()
        self.jobs = Jobs(asked, self.store, self.tokens, self.metrics)
        self.uploads = Uploads(folder, settings.upload_quota)
        root, anchor = (None if path is None else Path(path) for path in (settings.data_root, settings.anchor))
        orders = Administration(self.curator, self.tokens, self.uploads, self.metrics, folder, anchor, root)
        self.endpoints = (
            *questions.endpoints(asked),
            *jobs.endpoints(self.jobs),
            *administration.endpoints(orders, remote_admin=settings.remote_admin),
        )
        throttle = Throttle(settings.rate, settings.burst)
        self.door = Door(self.tokens, throttle, CapacityLimiter(settings.threads), self.metrics)

    def start(self) -> None:
        """Import and start what the first question needs, so that nobody waits for it."""
        import flint  # noqa: F401

        import dither.curator.present
        import dither.sql.pricing.explain  # noqa: F401

        self.curator.warm()
        self.jobs.start()

    def close(self) -> None:
        self.jobs.stop()
        self.store.close()
        self.curator.close()


def made() -> Any:
    """The application of a process that `run` has started."""
    server = Server(Settings(**json.loads(os.environ[_VARIABLE])))
    return application(server.endpoints, server.door, server.uploads, (server.start, server.close))


def run(settings: Settings) -> None:
    """Serve until a signal says stop; requests under way end first, and a process that dies is started again."""
    from pathlib import Path

    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings

    settings.check()
    Uploads(Path(settings.folder), settings.upload_quota).clear()
    os.environ[_VARIABLE] = json.dumps(asdict(settings))
    certificate, key = (None if path is None else Path(path) for path in (settings.certificate, settings.key))
    Granian(
        f"{__name__}:made",
        factory=True,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=settings.processes,
        respawn_failed_workers=True,
        respawn_interval=0.5,
        workers_kill_timeout=_SHUTDOWN_SECONDS,
        http1_settings=HTTP1Settings(header_read_timeout=_HEADER_SECONDS * 1000, max_buffer_size=_HEADER_BYTES),
        ssl_cert=certificate,
        ssl_key=key,
        log_enabled=False,
    ).serve()
