"""A server inside this process, so that what is planted in it is served: real HTTP, on this machine alone."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import threats_clinic
from granian.constants import Interfaces
from granian.server.embed import Server as Granian

from dither.accounting import PureDP
from dither.client import connect
from dither.curator.curator import Curator
from dither.curator.principal import Principal
from dither.server.app import application
from dither.server.data_files import room_for_uploads
from dither.server.listening import header_limits
from dither.server.serve import Server, Settings, free_port


class Served:
    """A curator's folder behind HTTP: those who ask have a token and an address, everything else is the curator's."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder, self.port = folder, free_port("127.0.0.1")
        stated = {"rate": 1e6, "burst": 10**6, "data_root": str(folder.parent), "remote_admin": True, **settings}
        self.server = Server(Settings(str(folder), port=self.port, **stated))
        self.curator = self.server.curator
        self.tokens: dict[str, str] = {}

    def token(self, who: str) -> str:
        if who not in self.tokens:
            principal = Principal(who) if who in ("curator", "auditor", "administrator") else Principal.analyst(who)
            self.tokens[who] = self.server.tokens.make(principal)
        return self.tokens[who]

    def analyst(self, name: str, **granted: Any) -> Any:
        """The analyst over HTTP; a cap is granted on the curator's own machine."""
        return connect(f"http://127.0.0.1:{self.port}", self.token(self.curator.analyst(name, **granted).name))

    def sql(self, text: str, **stated: Any) -> Any:
        """The curator asks over HTTP, too."""
        return connect(f"http://127.0.0.1:{self.port}", self.token("curator")).sql(text, **stated)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.curator, name)

    def call(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, sent, {"Authorization": f"Bearer {self.token(who)}", **headers})
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()

    def query(self, who: str, text: str, **stated: Any) -> tuple[int, bytes]:
        return self.call(who, "POST", "/v1/query", {"sql": text, "epsilon": "0.1", **stated})


@contextmanager
def serving(curator: Curator | Path, **settings: Any) -> Iterator[Served]:
    """Serve the folder of a curator, who is closed for it."""
    folder = curator
    if isinstance(curator, Curator):
        folder = curator._policy._path.parent
        curator.close()
    with room_for_uploads(Path(folder)) as room, _served(Path(folder), uploads=str(room), **settings) as found:  # type: ignore[arg-type]
        yield found


@contextmanager
def _served(folder: Path, **settings: Any) -> Iterator[Served]:
    served = Served(folder, **settings)
    life = (served.server.start, served.server.close)
    made = application(served.server.endpoints, served.server.door, served.server.uploads, life)
    granian = Granian(
        made,
        address="127.0.0.1",
        port=served.port,
        interface=Interfaces.ASGI,
        http1_settings=header_limits(),
        log_enabled=False,
    )
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_until_complete, args=(granian.serve(),))
    thread.start()
    try:
        while True:
            try:
                if served.call("curator", "GET", "/health")[0] == 200:
                    break
            except OSError:
                continue
        yield served
    finally:
        loop.call_soon_threadsafe(granian.stop)
        thread.join()
        loop.close()


@contextmanager
def served(base: Path, folder: Path, *, oversubscribed: bool = False, **settings: Any) -> Iterator[Served]:
    """A copy of one of the two clinics below `base`, served."""
    shutil.copytree(base / ("oversubscribed" if oversubscribed else "clinic"), folder / "clinic")
    with serving(folder / "clinic", **settings) as found:
        yield found


def make_bases(base: Path) -> Path:
    """A clinic with caps for alice and bob beside other people; and one whose people are oversubscribed."""
    with threats_clinic.open_clinic(base / "clinic") as curator:
        curator.analyst("bob", budget=PureDP(1))
        curator.people("staff", budget=PureDP(4))
        threats_clinic.add_table(curator, "staff", threats_clinic.patients(), people="staff")
    threats_clinic.open_clinic(base / "oversubscribed", budget=PureDP(1), oversubscribe=True).close()
    return base
