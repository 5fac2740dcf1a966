"""A token that is revoked opens nothing more: neither what waits under it, nor what runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.requests import Request

import dither as dt
from dither.curator.principal import Principal
from dither.ledger import ledger
from dither.ledger.storage.leave import always
from dither.server.app import Door
from dither.server.endpoints import Asked
from dither.server.serve import Server, Settings
from dither.server.store import Store
from dither.server.tokens import Tokens

ALICE = Principal.analyst("alice")
BODY = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.01"}


class Blocks:
    """An engine whose statements take until they are let go; or which has no place for a question until then."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.go, self.begun, self.full = engine, threading.Event(), threading.Event(), False

    def run(self, statement: Any) -> Any:
        self._wait()
        return self._engine.run(statement)

    def place(self, *asked: Any) -> Any:
        if self.full:
            self._wait()
        return self._engine.place(*asked)

    def _wait(self) -> None:
        self.begun.set()
        assert self.go.wait(120)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@dataclass
class Slow:
    """A server in this process, with a token of alice's, whose questions take until they are let go."""

    server: Server
    engine: Blocks
    token: str  # its id

    def revoke(self) -> None:
        """As another process does."""
        assert self.engine.begun.wait(120)
        store = type(self.server.store)(Path(self.server.store.folder))
        Tokens(store).revoke(self.token)
        store.close()
        self.engine.go.set()

    def expire(self) -> None:
        """Its time has come."""
        assert self.engine.begun.wait(120)
        with self.server.store._transaction() as connection:
            connection.execute("UPDATE tokens SET until = ? WHERE id = ?", (int(time.time()), self.token))
        self.engine.go.set()

    def ended(self, job: str) -> Any:
        """The row of a job of alice's, once it has ended."""
        deadline = time.monotonic() + 120
        while (row := self.server.store.job("analyst alice", job)) is None or row.state in ("queued", "running"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return row

    @property
    def charges(self) -> int:
        return [entry.kind for entry in self.server.curator.ledger()].count("reserve")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    folder = tmp_path / "clinic"
    with dt.Curator.open(folder) as curator:
        curator.people("patients", budget=dt.PureDP(4))
        declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": {"age": dt.Int(0, 120)}}
        source = pa.table({"pid": range(50), "age": range(50)})
        curator.register("visits", source, people="patients", **declared)
        curator.analyst("alice", budget=dt.PureDP(1))
    server = Server(Settings(str(folder)))
    engine = server.curator._engine = Blocks(server.curator._engine)  # type: ignore[assignment]
    server.jobs.threads = 1
    token = server.tokens.make(ALICE).split("_")[1]
    server.start()
    try:
        yield Slow(server, engine, token)
    finally:
        engine.go.set()
        server.close()


def check_request(slow: Slow, charges: int = 1) -> None:
    (query,) = [one for one in slow.server.endpoints if one.path == "/query"]
    request = Request({"type": "http", "query_string": b"", "path_params": {}, "headers": []})
    (held,) = [one for one in slow.server.tokens.all() if one.id == slow.token]
    revoking = threading.Thread(target=slow.revoke)
    revoking.start()
    with pytest.raises(dt.Stranger):
        slow.server.door._answer(query, request, held, json.dumps(BODY).encode())
    revoking.join()
    assert slow.charges == charges, "what was charged stays, and nothing else is charged"


def test_a_request_that_waits_is_not_answered(slow: Slow) -> None:
    check_request(slow)


def test_planted_bug_only_the_door_looks(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(self: Door, endpoint: Any, request: Any, token: Any, body: bytes) -> Any:
        return endpoint.answer(Asked(token.principal, token.id, {}, {}, json.loads(body)))

    monkeypatch.setattr(Door, "_answer", answer)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_request(slow)


def test_a_request_that_waits_uncharged_stays_so(slow: Slow) -> None:
    slow.engine.full = True
    check_request(slow, charges=0)
    assert not slow.server.questions.running
    assert slow.server.store._read("SELECT count(*) FROM requests") == [(0,)], "its id is free"


def test_planted_bug_a_charge_without_leave(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "leave_now", lambda: always)
    slow.engine.full = True
    with pytest.raises(AssertionError, match="nothing else is charged"):
        check_request(slow, charges=0)


@pytest.mark.parametrize("ends", ["revoked", "expires"])
def test_a_job_that_waits_uncharged_stays_so(slow: Slow, ends: str) -> None:
    slow.engine.full = True
    job = json.loads(slow.server.jobs.submit(Asked(ALICE, slow.token, body=BODY)).content)["id"]
    slow.revoke() if ends == "revoked" else slow.expire()
    row = slow.ended(job)
    assert (row.state, json.loads(row.result)["error"]["code"]) == ("failed", "stranger")
    assert slow.charges == 0


def test_a_token_that_expires_opens_nothing_over_http(served: Any) -> None:
    """By the clock, in every process, and by every endpoint; what it has begun is the principal's."""
    made = served.call("administrator", "POST", "/v1/tokens", {"role": "analyst", "name": "bob", "days": 1}).json
    assert served.query(made["token"], request="before it ends").status == 200
    store = Store(served.folder)
    with store._transaction() as connection:
        values = (int(time.time()), made["token"].split("_")[1])
        connection.execute("UPDATE tokens SET until = ? WHERE id = ?", values)
    store.close()
    spent = served.spent("bob")
    for _ in range(8):  # of all processes
        assert served.query(made["token"], "SELECT COUNT(*) FROM visits WHERE age > 9").status == 401
        assert served.call(made["token"], "GET", "/v1/tables").status == 401
    assert served.spent("bob") == spent
    assert served.query("bob", request="before it ends").status == 200


def check_jobs(slow: Slow) -> None:
    jobs, whose = slow.server.jobs, "analyst alice"
    submitted = [
        json.loads(jobs.submit(Asked(ALICE, slow.token, body={**BODY, "epsilon": price})).content)["id"]
        for price in ("0.01", "0.02")
    ]
    slow.revoke()
    deadline = time.monotonic() + 120

    def ends() -> list[tuple[str, str | None]]:
        """How both jobs stand, whichever of them is begun first."""
        rows: list[Any] = [slow.server.store.job(whose, one) for one in submitted]
        return sorted((row.state, json.loads(row.result or "{}").get("error", {}).get("code")) for row in rows)

    while any(state == "running" for state, _ in ends()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ends() == [("cancelled", None), ("failed", "stranger")], (
        "what runs is not answered, what waits is taken back"
    )
    assert slow.charges == 1


def test_jobs_end_with_their_token(slow: Slow) -> None:
    check_jobs(slow)


def test_planted_bug_jobs_look_when_they_begin_alone(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    valid, seen = Tokens.valid, []

    def once(self: Tokens, identity: str) -> bool:
        seen.append(identity)
        return len(seen) > 1 or valid(self, identity)

    monkeypatch.setattr(Tokens, "valid", once)
    with pytest.raises(AssertionError, match="done"):
        check_jobs(slow)
