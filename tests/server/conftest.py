"""A real server: `dither serve` in processes of its own, with a token for every role."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.principal import Principal
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
    process: subprocess.Popen[str] | None = None
    port: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "dither.cli.main", "serve", str(self.folder), "--port", str(self.port)]
        command += ["--data-root", str(self.root), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.wait()

    def wait(self) -> None:
        """Until it answers; a minute is far beyond what starting takes on any machine."""
        assert self.process is not None
        for _ in range(600):
            assert self.process.poll() is None, "the server ended"
            try:
                if self.call(None, "GET", "/health").status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def call(
        self, who: str | None, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
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


def make(folder: Path, *options: str) -> Served:
    """A curator's folder with a table, two analysts and a token for everybody."""
    with dt.Curator.open(folder / "clinic") as curator:
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
    made = make(tmp_path_factory.mktemp("served"), "--processes", "2", "--remote-admin")
    made.start()
    try:
        yield made
    finally:
        ended = made.stop()
    assert ended == 0


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """One for this test alone."""
    made = make(tmp_path)
    made.start()
    try:
        yield made
    finally:
        made.stop()
