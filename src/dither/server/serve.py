"""`dither serve`: the application of one folder under uvicorn, until it is told to stop."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter

from dither.curator.curator import Curator
from dither.errors import ParameterError
from dither.server import administration, jobs, questions
from dither.server.administration import Administration
from dither.server.app import Door, application
from dither.server.data_files import Uploads
from dither.server.jobs import Jobs
from dither.server.questions import Questions
from dither.server.store import Store
from dither.server.throttle import Throttle
from dither.server.tokens import Tokens

_HEADER_BYTES = 16 * 1024
_SHUTDOWN_SECONDS = 30  # that requests under way have; what is charged by then is settled when it is asked for again


@dataclass(frozen=True)
class Settings:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    plaintext: bool = False
    anchor: Path | None = None
    data_root: Path | None = None
    upload_quota: int = 2 * 2**30
    remote_admin: bool = False
    threads: int = 40
    throttle: Throttle = field(default_factory=Throttle)

    def check(self) -> None:
        """Refuse to send tokens in the clear over a network."""
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("TLS takes two files: --certificate and --key.")
        if self.certificate is None and not self.plaintext and not _loopback(self.host):
            raise ParameterError(
                f"{self.host} can be reached over a network, where tokens and answers must not go in the clear: give "
                "--certificate and --key, or --plaintext if a proxy in front of this one speaks TLS."
            )

    def listen(self) -> socket.socket:
        """A socket at the address; the system hands connections on to all processes that listen there."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            made.bind((self.host, self.port))
            made.listen(1024)
        except OSError as error:
            made.close()
            raise ParameterError(f"{self.host}:{self.port} cannot be listened on: {error.strerror}.") from None
        return made


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


class Server:
    """The curator of a folder with everything that serving it takes."""

    def __init__(self, curator: Curator, folder: Path, settings: Settings) -> None:
        settings.check()
        self.settings, self.curator, self.store = settings, curator, Store(folder)
        self.tokens = Tokens(self.store)
        self.questions = Questions(curator.service, self.store)
        door = Door(self.tokens, settings.throttle, CapacityLimiter(settings.threads))
        self.jobs = Jobs(self.questions, self.store, self.tokens)
        self.uploads = Uploads(folder, settings.upload_quota)
        self.uploads.clear()
        orders = Administration(curator, self.tokens, self.uploads, folder, settings.anchor, settings.data_root)
        self.endpoints = (
            *questions.endpoints(self.questions),
            *jobs.endpoints(self.jobs),
            *administration.endpoints(orders, remote_admin=settings.remote_admin),
        )
        self.application = application(self.endpoints, door, self.uploads)

    def run(self, listening: socket.socket) -> None:
        """Serve until a signal says stop; requests under way end first."""
        import uvicorn

        settings = self.settings
        tls: dict[str, Any] = {}
        if settings.certificate is not None and settings.key is not None:
            tls = {"ssl_certfile": str(settings.certificate), "ssl_keyfile": str(settings.key)}
        config = uvicorn.Config(
            self.application,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            **tls,
        )
        self.jobs.start()
        try:
            uvicorn.Server(config).run([listening])
        finally:
            self.close()

    def close(self) -> None:
        self.jobs.stop()
        self.store.close()
        self.curator.close()
