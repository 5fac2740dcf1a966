"""`dither serve`: processes that all serve one folder, started again if one of them dies."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anyio import CapacityLimiter

from dither.curator.curator import Curator
from dither.errors import ParameterError
from dither.server import administration, jobs, questions, toolbox
from dither.server.admin_listener import listener
from dither.server.administration import Administration
from dither.server.app import Door, application
from dither.server.data_files import Uploads, room_for_uploads
from dither.server.endpoints import COMPUTING, QUICK, SLOW
from dither.server.jobs import Jobs
from dither.server.listening import SHUTDOWN_SECONDS, processes
from dither.server.metrics import Metrics, Sender, Sums
from dither.server.page import sharing
from dither.server.page.page import Page
from dither.server.page.sharing import Sharing
from dither.server.questions import Questions
from dither.server.recovery import Recovery
from dither.server.store import Store
from dither.server.throttle import Throttle, Turns, computing
from dither.server.tokens import Tokens
from dither.server.wire.listener import Listener, Services
from dither.server.wire.login.authentication import Gate, nonce_of, secure

_ORIGIN = re.compile(r"https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
_VARIABLE = "DITHER_SERVE"  # by which a process that is started learns what to serve
_PARENT = "DITHER_SERVE_PARENT"  # and which process it ends with
_COMPUTING = 2  # threads that compute at once: with more, all of them take longer, and so does everything else
_SHORT = 0.02  # seconds that what computes has to itself
_AHEAD = 4  # questions that are charged at once for each worker, so that they share durable commits
_LOOK = 1.0  # seconds between two looks at whether the process that started this one is still there


@dataclass(frozen=True)
class Settings:
    """What to serve, and where and how to listen."""

    folder: str
    anchor: str | None = None
    weak_anchor: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    plaintext: bool = False
    origin: str | None = None  # where a proxy in front shows the page
    data_root: str | None = None
    upload_quota: int = 2 * 2**30
    remote_admin: bool = False
    processes: int = 1
    threads: int = 40
    rate: float = 50.0
    burst: int = 200
    log: bool = False
    admin_host: str = "127.0.0.1"
    admin_port: int | None = None
    pg_port: int | None = None
    cancels: str | None = None  # the folder in which processes that speak PostgreSQL's protocol hear each other
    counts: str | None = None  # where the admin listener, if there is one, takes what is counted
    uploads: str = ""  # the folder for what is sent to its processes

    def check(self) -> None:
        """Refuse to send tokens in the clear over a network."""
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("TLS takes two files: --certificate and --key.")
        open_to_all = [host for host in (self.host, self.admin_host) if not _loopback(host)]
        if self.certificate is None and not self.plaintext and open_to_all:
            raise ParameterError(
                f"{open_to_all[0]} can be reached over a network, where tokens and answers must not go in the clear: "
                "give --certificate and --key, or --plaintext if a proxy in front of this one speaks TLS."
            )
        if self.origin is not None and not _ORIGIN.fullmatch(self.origin):
            raise ParameterError(f"--origin is written https://NAME or https://NAME:PORT; got {self.origin}.")
        if self.pg_port is not None and self.certificate is None and not _loopback(self.host):
            raise ParameterError("--pg beyond this machine takes --certificate and --key: it speaks TLS by itself.")

    def check_files(self) -> None:
        """Refuse a certificate and a key that cannot be read or do not belong together."""
        if self.certificate is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
            except OSError as error:
                why = f"--certificate {self.certificate} and --key {self.key} cannot be used"
                raise ParameterError(f"{why}: {error.strerror or error}.") from None

    @property
    def address(self) -> str:
        return self._url(self.host, self.port)

    @property
    def admin_address(self) -> str:
        return self._url(self.admin_host, self.admin_port)

    def _url(self, host: str, port: int | None) -> str:
        shown = f"[{host}]" if ":" in host else host
        return f"{'http' if self.certificate is None else 'https'}://{shown}:{port}"


def address(host: str, name: str) -> str:
    """An address to listen on; names, but for localhost, could mean several."""
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        raise ParameterError(f"{name} is an address, such as 127.0.0.1, 0.0.0.0 or ::, and no name: {host}.") from None


def _loopback(host: str) -> bool:
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
        folder = Path(settings.folder)
        anchor: dict[str, Any] = {"anchor": settings.anchor, "weak_anchor": settings.weak_anchor}
        self.curator = Curator.open(folder, create=False, **anchor)
        self.curator.charge_ahead(_AHEAD, turns := computing(_COMPUTING))
        self.store = Store(folder)
        self.tokens = Tokens(self.store)
        asked = self.questions = Questions(self.curator.service, self.store, self.tokens, computing=turns)
        self.metrics = Sender(settings.counts)
        recovery = Recovery(self.curator.service.pending, asked, self.store)
        self.jobs = Jobs(asked, self.store, self.tokens, self.metrics, recovery)
        self.uploads = Uploads(Path(settings.uploads), settings.upload_quota)
        root = None if settings.data_root is None else Path(settings.data_root)
        orders = Administration(self.curator, self.tokens, self.uploads, folder, anchor, root)
        self.endpoints = (
            *questions.endpoints(asked),
            *jobs.endpoints(self.jobs),
            *sharing.endpoints(Sharing(asked)),
            *toolbox.endpoints(),
            *administration.endpoints(orders, remote_admin=settings.remote_admin),
        )
        self.door = _door(self.tokens, settings, self.metrics, page=True)
        self.wire = None if settings.pg_port is None else self._listener(settings, asked)

    def _listener(self, settings: Settings, asked: Questions) -> Listener:
        """The listener for clients of PostgreSQL, with the tokens, limits and counts of the others."""
        tls, binding = (None, None) if settings.certificate is None else secure(settings.certificate, settings.key)
        gate = Gate(self.tokens, nonce_of(Path(settings.folder)), tls, binding)
        services = Services(asked, self.door.throttle, self.metrics)
        return Listener((settings.host, settings.pg_port or 0), gate, services, Path(settings.cancels or ""))

    def start(self) -> None:
        """Import and start what the first question needs, so that nobody waits for it."""
        import flint  # noqa: F401

        import dither.curator.present
        import dither.sql.pricing.explain  # noqa: F401

        self.curator.warm()
        self.jobs.start()
        if self.wire is not None:
            self.wire.start()

    def close(self) -> None:
        if self.wire is not None:
            self.wire.close()
        self.jobs.stop()
        self.metrics.close()
        self.store.close()
        self.curator.close()


def _door(tokens: Tokens, settings: Settings, metrics: Metrics, *, page: bool = False) -> Door:
    throttle, proofs = Throttle(settings.rate, settings.burst), CapacityLimiter(2)
    local = _loopback(settings.host) and settings.certificate is None
    shown = Page(tokens, proofs, local, settings.origin) if page else None
    turns = {QUICK: Turns(settings.threads), COMPUTING: Turns(_COMPUTING, _SHORT), SLOW: Turns(settings.threads)}
    return Door(tokens, throttle, turns, proofs, metrics, shown)


def admin_application(order: dict[str, Any], sums: Sums) -> Any:
    """The application of the admin listener."""
    settings = Settings(order["folder"])
    tokens = Tokens(Store(Path(settings.folder)))
    return application(listener.endpoints(sums), _door(tokens, settings, sums), None)


def made() -> Any:
    """The application of a process that `run` has started, and that ends with it."""
    # Who started this one is told and not looked up: it may be gone by now.
    threading.Thread(target=_end_after, args=(int(os.environ[_PARENT]),), daemon=True).start()
    settings = Settings(**json.loads(os.environ[_VARIABLE]))
    if settings.log:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("dither.server").setLevel(logging.INFO)
    server = Server(settings)
    return application(server.endpoints, server.door, server.uploads, (server.start, server.close))


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SHUTDOWN_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def run(settings: Settings) -> None:
    """Serve until a signal says stop; requests under way end first, and a process that dies is started again."""
    settings.check()
    with ExitStack() as held:
        uploads = held.enter_context(room_for_uploads(Path(settings.folder)))
        settings = replace(settings, uploads=str(uploads.absolute()))
        if settings.admin_port is not None:
            address = {"host": settings.admin_host, "port": settings.admin_port}
            files = {"certificate": settings.certificate, "key": settings.key}
            counts = held.enter_context(listener.listening({"folder": settings.folder, **address, **files}))
            settings = replace(settings, counts=counts)
        if settings.pg_port is not None:
            settings = replace(settings, cancels=held.enter_context(TemporaryDirectory(prefix="dither-")))
        _run(settings)


def _run(settings: Settings) -> None:
    os.environ[_VARIABLE], os.environ[_PARENT] = json.dumps(asdict(settings)), str(os.getpid())
    while True:
        _end_at_signals()
        server = processes(f"{__name__}:made", settings, settings.processes)
        try:
            server.serve()
        except SystemExit:
            if server.interrupt_signal:
                raise
        else:
            return
        _end_at_signals()
        time.sleep(_LOOK)  # processes died again and again


def _end_at_signals() -> None:
    """Nothing serves now, and nobody else listens: the handlers of a server that has ended would let a signal pass."""
    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, lambda *_: sys.exit(0))
