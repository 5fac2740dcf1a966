"""A server that is killed again and again, clients that ask all the same, and what must hold afterwards."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from threading import Lock, Thread
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.curator.principal import Principal
from dither.policy.columns import Int
from dither.policy.limits import Limits
from dither.server.serve import Settings, free_port
from dither.server.store import Store
from dither.server.tokens import Tokens

PRICE = Fraction(1, 10)
Order = tuple[str, int]
_PROGRAM = Path(__file__).with_name("serving.py")
_PATIENCE = 120  # seconds that an answer may take: far beyond what a restart takes on any machine


def make(folder: Path, caps: Mapping[str, Fraction], ledger: str | None = None) -> dict[str, str]:
    """A folder with a table and analysts, and their tokens; workers that are killed freeze nobody."""
    rows = pa.table({"patient": range(50), "age": [patient % 90 for patient in range(50)]})
    with Curator.open(folder, ledger=ledger) as curator:
        curator.people("patients", budget=PureDP(sum(caps.values())))
        for name, cap in caps.items():
            curator.analyst(name, budget=PureDP(cap))
        columns = {"age": Int(0, 120)}
        curator.register("visits", rows, people="patients", owner="patient", max_rows_per_owner=1, columns=columns)
        curator.limits(Limits(max_incidents=10**6, workers=2, wait_seconds=_PATIENCE))
    store = Store(folder)
    tokens = {name: Tokens(store).make(Principal.analyst(name)) for name in caps}
    store.close()
    return tokens


@dataclass
class Served:
    """A folder that is served, with everything that was asked and seen."""

    folder: Path
    tokens: dict[str, str]
    orders: list[Order] = field(default_factory=list)
    bug: str | None = None
    processes: int = 1
    port: int = field(default_factory=lambda: free_port("127.0.0.1"))
    process: subprocess.Popen[bytes] | None = None
    seen: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    asked: set[str] = field(default_factory=set)
    lost: int = 0  # connections that broke
    _lock: Lock = field(default_factory=Lock)

    def start(self) -> None:
        stated = Settings(str(self.folder), port=self.port, processes=self.processes, rate=1e6, burst=10**6)
        command = [sys.executable, "-P", str(_PROGRAM), json.dumps(asdict(stated)), json.dumps(self.orders)]
        command += [str(self._lives), *([self.bug] if self.bug else [])]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            for process in (*self.children(), self.process.pid):
                kill(process)
            raise AssertionError("the server does not end") from None

    @property
    def _lives(self) -> Path:
        return self.folder.with_name(f"{self.folder.name} lives")

    @property
    def _log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name} log")

    @property
    def lives(self) -> int:
        return self._lives.stat().st_size if self._lives.exists() else 0

    def children(self, of: int | None = None) -> list[int]:
        """The processes that a process has started: those that serve, or their workers."""
        parent = self.process.pid if of is None else of  # type: ignore[union-attr]
        try:
            text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
            return [int(number) for number in text.split()]
        except OSError:
            return []

    def wait(self) -> None:
        """Until a process serves."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError, http.client.HTTPException):
                if self._call("GET", "/health")[0] == 200:
                    return
            time.sleep(0.02)
        raise AssertionError("the server did not come back")

    def ask(self, request: str, *, retry: bool = True) -> tuple[int, bytes] | None:
        """Ask under a request id until there is an answer; without `retry` once, whatever becomes of it."""
        body = _question(request)
        self.asked.add(request)
        if not retry:
            self.wait()
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                status, content = self._call("POST", "/v1/query", json.dumps(body))
            except (OSError, http.client.HTTPException):
                self.lost += 1
                status, content = 0, b""
            if status == 200 or (status == 500 and b"query_failed" in content):
                with self._lock:
                    self.seen[request].add(b"%d " % status + content)
                return status, content
            assert status in (0, 503), content
            if not retry:
                return None
            time.sleep(0.02)
        raise AssertionError("the server did not come back")

    def spend(self, analyst: str, request: str) -> bool:
        """Whether there was room for one question more."""
        status, content = self._call("POST", "/v1/query", json.dumps(_question(request)), analyst)
        assert status in (200, 402), content
        return status == 200

    def spent(self, analyst: str) -> str:
        status, content = self._call("GET", "/v1/budget", None, analyst)
        assert status == 200, content
        return str(json.loads(content)["spent"]["epsilon"])

    def _call(self, method: str, path: str, body: str | None = None, analyst: str = "alice") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {self.tokens.get(analyst, '')}"}
            connection.request(method, path, body, headers)
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()


def _question(request: str) -> dict[str, str]:
    sql = f"SELECT COUNT(*) FROM visits WHERE age + {number(request)} > 3"
    return {"sql": sql, "epsilon": str(PRICE), "request": request}


def number(request: str) -> int:
    """A question of its own for each request id."""
    return int(request.rpartition(" ")[2])


@contextmanager
def serving(
    folder: Path,
    orders: list[Order],
    bug: str | None = None,
    processes: int = 1,
    caps: Mapping[str, Fraction] = MappingProxyType({"alice": Fraction(9000)}),
    ledger: str | None = None,
) -> Iterator[Served]:
    served = Served(folder, make(folder, caps, ledger), orders, bug, processes)
    served.start()
    try:
        yield served
    finally:
        served.stop()


def clients(served: Served, count: int, while_: Any, *, abandon: int = 0) -> None:
    """So many clients ask one thing after the other; each `abandon`-th is not asked again if the connection breaks."""
    errors: list[BaseException] = []

    def work(client: int) -> None:
        turn = 0
        try:
            while while_():
                place = client + count * turn
                served.ask(f"request {place}", retry=not (abandon and place % abandon == 0))
                turn += 1
        except BaseException as error:  # noqa: BLE001 - raised again by whoever started this
            errors.append(error)

    threads = [Thread(target=work, args=(client,), daemon=True) for client in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def check(served: Served, patience: float = _PATIENCE) -> int:
    """Nothing was released that is not charged, nothing charged twice, nothing lost; how many charges there are."""
    seen = {request: found for request, found in served.seen.items() if found}
    for request in sorted(seen, key=number)[-40:]:
        served.ask(request)
    several = {request: sorted(one[:90] for one in found) for request, found in seen.items() if len(found) > 1}
    assert not several, f"a retry returns the same bytes: {several}"
    deadline = time.monotonic() + patience
    with Curator.open(served.folder) as curator:
        ledger = curator._ledger
        while ledger.pending() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert ledger.pending() == [], "what a dead process has charged is answered"
        served.stop()
        charged = [entry.body["request"] for entry in ledger.entries() if entry.kind == "reserve"]
        assert len(charged) == len({*charged}), "one charge a request"
        assert {*charged} <= served.asked, "nothing is charged but what was asked"
        assert {*seen} <= {*charged}, "released implies charged"
        for analyst in (None, "alice"):
            assert ledger.balance("patients", analyst).spent.cost == len(charged) * PRICE, "all charges are there"
        ledger.verify()
    assert "visits" not in served._log.read_text(), "logs have nothing of questions"
    return len(charged)


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
