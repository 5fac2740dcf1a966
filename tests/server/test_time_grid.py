"""On request, when an answer leaves the server follows from its plan alone: questions, retries and jobs."""

from __future__ import annotations

import json
import time as real_time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

import dither as dt
from dither.curator.time_grid import Clock
from dither.server.app import application
from dither.server.serve import Server, Settings

COUNT = "SELECT COUNT(*) FROM visits"
LIMITS = dt.Limits(answer_on_grid="0.25", statement_seconds=3, max_incidents=9)  # answers after 4 seconds


class Here:
    """A server in this process, whose clock moves only when somebody sleeps or a statement works."""

    def __init__(self, folder: Any, tokens: dict[str, str]) -> None:
        self.now, self.during = 1000.0, (lambda: None)
        self.server, self.tokens = Server(Settings(str(folder))), tokens
        self.server.curator.limits(LIMITS)
        self.server.curator._walk._clock = Clock(lambda: self.now, self.sleep)
        self.application = application(self.server.endpoints, self.server.door, self.server.uploads)

    def sleep(self, seconds: float) -> None:
        during, self.during = self.during, lambda: None
        during()
        self.now += seconds

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request through the whole application."""
        sent: list[Any] = []
        content = b"" if body is None else json.dumps(body).encode()

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {self.tokens['alice']}".encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
        scope |= {"http_version": "1.1", "scheme": "http", "root_path": "", "server": ("127.0.0.1", 1), "client": None}
        anyio.run(self.application, scope, receive, send)
        return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent[1:]))

    def query(self, epsilon: str, request: str | None = None) -> tuple[float, int, Any]:
        """Seconds from the request to its answer, the status and the answer."""
        asked = self.now
        status, found = self.call("POST", "/v1/query", {"sql": COUNT, "epsilon": epsilon, "request": request})
        return self.now - asked, status, found


class Takes:
    """An engine whose statements take some time, and may fail."""

    def __init__(self, engine: Any, here: Here, seconds: float, *, fails: bool) -> None:
        self._engine, self._here, self._seconds, self._fails = engine, here, seconds, fails

    def run(self, statement: Any) -> Any:
        self._here.now += self._seconds
        if self._fails:
            raise ZeroDivisionError
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@pytest.fixture
def here(unserved: Any) -> Iterator[Here]:
    made = Here(unserved.folder, unserved.tokens)
    yield made
    made.server.close()


def check_times(here: Here) -> None:
    curator, sound = here.server.curator, here.server.curator._engine
    times, statuses = set(), []
    for number, (seconds, fails) in enumerate([(0, False), (0.5, False), (2, False), (4, False), (1, True)], 1):
        curator._engine = Takes(sound, here, seconds, fails=fails)  # type: ignore[assignment]
        taken, status, _ = here.query(f"0.00{number}")
        times.add(taken)
        statuses.append(status)
    curator._engine = sound
    assert statuses == [200, 200, 200, 200, 500]
    assert times == {4.0}, "time shows how long the statement took"


def test_answers_and_failures_leave_on_the_grid(here: Here) -> None:
    check_times(here)


def test_planted_bug_answers_leave_as_soon_as_they_are_there(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.curator.walk.release_of", lambda priced, limits: None)
    with pytest.raises(AssertionError, match="time shows"):
        check_times(here)


def test_what_follows_from_the_plan_and_the_ledger_is_said_at_once(here: Here) -> None:
    assert here.query("0.01", "first")[:2] == (4.0, 200)
    assert here.query("0.01", "first")[:2] == (0.0, 200)
    assert here.query("0.01", "free repeat")[:2] == (0.0, 200)
    assert here.query("100")[:2] == (0.0, 402)
    assert here.query("nan")[:2] == (0.0, 400)


def check_waiting(here: Here, look: Callable[[Here], Any], expected: Any) -> None:
    """What another request sees while an answer that was drawn waits for its time."""
    seen: list[Any] = []
    here.during = lambda: seen.append(look(here))
    here.query("0.01", "mine")
    assert seen == [expected], "the answer shows before its time"


def kinds(here: Here) -> list[str]:
    return [entry["kind"] for entry in here.call("GET", "/v1/history")[1]]


def retried(here: Here) -> Any:
    return here.query("0.01", "mine")[:2]


def test_nothing_shows_while_an_answer_waits(here: Here) -> None:
    check_waiting(here, kinds, ["account", "reserve"])
    assert kinds(here) == ["account", "reserve"], "nor does its own time afterwards"


def test_a_retry_meanwhile_has_a_time_of_its_own(here: Here) -> None:
    """It is neither answered as soon as the first was drawn, nor charged."""
    check_waiting(here, retried, (4.0, 200))
    assert [entry["kind"] for entry in here.call("GET", "/v1/history")[1]].count("reserve") == 1


def test_planted_bug_a_retry_gets_what_was_drawn_at_once(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk that settles first and waits afterwards."""
    from dither.curator.walk import Walk

    def settled(walk: Any, reservation: Any, drawn: Any, asked: float, begun: float, due: Any) -> Any:
        answer = sound(walk, reservation, drawn, asked, begun, None)
        walk._clock.sleep(4.0 - (walk._clock.now() - asked))
        return answer

    sound = Walk._settled
    monkeypatch.setattr(Walk, "_settled", settled)
    with pytest.raises(AssertionError, match="before its time"):
        check_waiting(here, retried, (4.0, 200))


def test_a_job_ends_on_the_grid(here: Here) -> None:
    seen: list[Any] = []
    asked = here.now
    status, job = here.call("POST", "/v1/jobs", {"sql": COUNT, "epsilon": "0.01"})
    path = f"/v1/jobs/{job['id']}"
    assert (status, here.call("GET", path)[1]["state"]) == (202, "queued")
    here.during = lambda: seen.append(here.call("GET", path)[1])
    here.server.jobs.start()
    while (found := here.call("GET", path)[1])["state"] in ("queued", "running"):
        real_time.sleep(0.05)
    assert seen == [{"id": job["id"], "state": "running"}]
    assert (found["state"], here.now - asked) == ("done", 4.0)


def test_a_real_server_waits(own: Any) -> None:
    """However fast a machine is, nothing comes earlier."""
    changed = own.call("curator", "PATCH", "/v1/limits", {"limits": {"answer_on_grid": "0.25", "statement_seconds": 2}})
    assert changed.status == 200
    asked = real_time.monotonic()
    assert own.query("alice").status == 200
    assert real_time.monotonic() - asked >= 2
