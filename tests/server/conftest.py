"""A real server: `dither serve` in processes of its own, with a token for every role."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.principal import Principal
from dither.demo import clinic_server as demo
from dither.ledger.storage.files import Folder
from dither.server.store import Store
from dither.server.tokens import Tokens

OWNERS = 1000
COUNT = "SELECT COUNT(*) FROM visits"
PRINCIPALS = {
    "alice": Principal.analyst("alice"),
    "bob": Principal.analyst("bob"),
    "curator": Principal.curator(),
    "auditor": Principal("auditor"),
    "administrator": Principal("administrator"),
    "monitor": Principal("monitor"),
}


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


@dataclass
class Served:
    """A folder with the process that serves it."""

    folder: Path
    root: Path
    tokens: dict[str, str]
    options: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", "dither.cli.main")
    process: subprocess.Popen[str] | None = None
    port: int = 0
    admin_port: int = 0

    def start(self) -> None:
        command = [sys.executable, *self.program, "serve", str(self.folder), "--port", str(self.port)]
        command += ["--data-root", str(self.root), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        if "--admin-port" in self.options:
            self.admin_port = int(self.process.stdout.readline().removesuffix("/v1/metrics\n").rsplit(":", 1)[1])
            self.wait(self.admin_port)
        self.wait()

    def wait(self, port: int | None = None) -> None:
        """Until it answers; a minute is far beyond what starting takes on any machine."""
        assert self.process is not None
        for _ in range(600):
            assert self.process.poll() is None, "the server ended"
            with suppress(OSError):
                if self.call(None, "GET", "/ready", port=port).status == 200:
                    return
            time.sleep(0.1)  # it does not listen yet, or is not ready
        raise AssertionError("the server did not start")

    def call(
        self,
        who: str | None,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        port: int | None = None,
        **headers: str,
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=120)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            sent["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        try:
            connection.request(
                method, path, json.dumps(body).encode() if raw is None and body is not None else raw, sent
            )
            found = connection.getresponse()
            return Reply(found.status, found.read(), {name.lower(): value for name, value in found.getheaders()})
        finally:
            connection.close()

    def query(self, who: str, text: str = COUNT, **stated: Any) -> Reply:
        return self.call(who, "POST", "/v1/query", {"sql": text, "epsilon": "0.001", **stated})

    def spent(self, who: str = "alice") -> str:
        return str(self.call(who, "GET", "/v1/budget").json["spent"]["rho"])

    def stop(self) -> int:
        assert self.process is not None
        with self.process as process:
            process.send_signal(signal.SIGTERM)
        return process.returncode


def make(folder: Path, *options: str, ledger: str | None = None) -> Served:
    """A curator's folder with a table, two analysts and a token for everybody."""
    with dt.Curator.open(folder / "clinic", ledger=ledger) as curator:
        curator.people("patients", budget=dt.ApproxDP(4, "1e-6"))
        source = pa.table({"pid": range(OWNERS), "age": [owner % 90 for owner in range(OWNERS)]})
        declared = {"owner": "pid", "max_rows_per_owner": 1, "columns": {"age": dt.Int(0, 120)}}
        curator.register("visits", source, people="patients", **declared)  # type: ignore[arg-type]
        for name in ("alice", "bob"):
            curator.analyst(name, budget=dt.ApproxDP(1, "1e-7"))
    store = Store(folder / "clinic")
    tokens = {who: Tokens(store).make(principal) for who, principal in PRINCIPALS.items()}
    store.close()
    (folder / "data").mkdir()
    return Served(folder / "clinic", folder / "data", tokens, options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = make(tmp_path_factory.mktemp("served"), "--processes", "2", "--remote-admin", "--admin-port", "0")
    made.start()
    try:
        yield made
    finally:
        ended = made.stop()
    assert ended == 0


@pytest.fixture
def own_on_postgres(tmp_path: Path, database: str) -> Iterator[Served]:
    """One for this test alone, with its ledger and its own tables in PostgreSQL."""
    made = make(tmp_path, "--processes", "2", ledger=database)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """One for this test alone."""
    made = make(tmp_path)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def unserved(tmp_path: Path) -> Served:
    """A folder with tokens that nobody serves yet."""
    return make(tmp_path)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo's clinic, served."""
    folder = tmp_path_factory.mktemp("clinic")
    demo.make(folder / "clinic", 20_000 if os.environ.get("DITHER_SCREENSHOTS") else 600)
    store = Store(folder / "clinic")
    tokens = {who: Tokens(store).make(principal) for who, principal in PRINCIPALS.items() if who != "bob"}
    store.close()
    (folder / "data").mkdir()
    made = Served(folder / "clinic", folder / "data", tokens)
    made.start()
    yield made
    made.stop()


@pytest.fixture(params=["file", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the same store again and again, as several processes do."""
    if request.param == "postgres":
        Folder(tmp_path).write_address(request.getfixturevalue("database"))
    made: list[Store] = []

    def once() -> Store:
        made.append(Store(tmp_path))
        return made[-1]

    yield once
    for store in made:
        store.close()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()
