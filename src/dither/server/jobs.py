"""Questions that are answered later: a queue that is fair between principals, kept on disk, worked off by threads.

A job that waits is not charged. One that runs is charged under its own request id, so that it is charged once however
often processes die: when the lease of a process that died ends, another one takes the job up again.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dither.curator.principal import Principal
from dither.errors import DitherError, LedgerError
from dither.escape import json_text
from dither.server.endpoints import ASKERS, Asked, Endpoint, Reply
from dither.server.metrics import Metrics
from dither.server.problems import NotFound, document_of, problem
from dither.server.questions import LEASE, PRICE, REQUEST, SQL, Questions, check_request, key_of
from dither.server.recovery import Recovery
from dither.server.store import JobRow, Store
from dither.server.throttle import TooMany
from dither.server.tokens import Tokens

MOST_JOBS = 100  # of a principal that wait or run
_LOOK = 1.0  # seconds after which the queue is looked at, for jobs of other processes


@dataclass
class Jobs:
    """The queue, and the threads of this process that work it off."""

    questions: Questions
    store: Store
    tokens: Tokens
    metrics: Metrics
    recovery: Recovery
    threads: int = 8  # of which one principal has half, so that whoever comes next waits for nobody
    _running: dict[str, str] = field(default_factory=dict)  # jobs under way here, and whose they are
    _taking: threading.Lock = field(default_factory=threading.Lock)
    _wake: threading.Condition = field(default_factory=threading.Condition)
    _stopping: bool = False
    _workers: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        targets = [self._work] * self.threads + [self._renew, self._recover]
        self._workers = [threading.Thread(target=target, daemon=True) for target in targets]
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Take no more; jobs under way end first."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        for worker in self._workers:
            worker.join()

    # -- what principals see

    def submit(self, asked: Asked) -> Reply:
        identity, body = secrets.token_hex(16), dict(asked.body)
        body.setdefault("request", f"job {identity}")
        check_request(body["request"])
        whose = key_of(asked.principal)
        row = JobRow(identity, whose, asked.token, json.dumps(body), "queued", None, int(time.time()), 0)
        if not self.store.add_job(row, MOST_JOBS):
            raise TooMany(5)
        with self._wake:
            self._wake.notify()
        return Reply(json_text({"id": identity, "state": "queued"}).encode(), status=202)

    def state(self, asked: Asked) -> Any:
        row = self._own(asked)
        found: dict[str, Any] = {"id": row.id, "state": row.state}
        if row.result is not None:
            found |= json.loads(row.result)
        return found

    def cancel(self, asked: Asked) -> Any:
        """A job that waits is taken back; one that runs is charged already and goes on."""
        row = self._own(asked)
        self.store.end_job(row.id, "cancelled", None, only="queued")
        return self.state(asked)

    def _own(self, asked: Asked) -> JobRow:
        row = self.store.job(key_of(asked.principal), asked.path["id"])
        if row is None:
            raise NotFound
        return row

    # -- the threads

    def _work(self) -> None:
        while not self._stopping:
            worked = False
            with suppress(LedgerError):  # a disk that is full, say: what was not recorded is done again
                worked = self._work_once()
            if not worked:
                self._pause(_LOOK)

    def _work_once(self) -> bool:
        now = int(time.time())
        with self._taking:
            taken = Counter([*self._running.values()])
            many = [one for one, number in taken.items() if number >= self.threads - taken.total()]
            row = self.store.take_job(now, now + LEASE, many)
            if row is None:
                return False
            self._running[row.id] = row.principal
        try:
            self._run(row)
        finally:
            self._running.pop(row.id, None)
        return True

    def _run(self, row: JobRow) -> None:
        role, _, name = row.principal.partition(" ")
        try:
            self.tokens.check(row.token)
            answer = self.questions.asked(Principal(role, name or None), json.loads(row.body), row.token)
            self.tokens.check(row.token)  # revoked meanwhile: what was charged stays the principal's
            ended = "done", json.dumps({"answer": answer})
        except LedgerError:
            return  # it may be charged: when the lease ends, it is taken up again under the same id
        except DitherError as error:
            ended = "failed", json.dumps(document_of(error))
        except Exception:  # noqa: BLE001 - nothing of an error that nobody foresaw leaves
            ended = "failed", json.dumps(problem("internal", "something went wrong here."))
        with suppress(LedgerError):  # the same holds here
            self.store.end_job(row.id, *ended)
        self.metrics.count("dither_jobs_ended_total", state=ended[0])

    def _renew(self) -> None:
        """Keep what runs here in hand."""
        self._every(LEASE / 3, self._renew_once)

    def _renew_once(self, now: int) -> None:
        running = [*self._running]
        if running:
            self.store.renew_jobs(running, now + LEASE)
        self.recovery.renew(now)

    def _recover(self) -> None:
        """Take up what a process that died has charged."""
        self._every(LEASE / 3, self.recovery.take_up)

    def _every(self, seconds: float, work: Callable[[int], object]) -> None:
        while not self._stopping:
            with suppress(LedgerError):  # a disk that is full, say: it is done again
                work(int(time.time()))
            self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        with self._wake:
            if not self._stopping:
                self._wake.wait(seconds)


def endpoints(jobs: Jobs) -> tuple[Endpoint, ...]:
    """Questions that are answered later."""
    asked = (SQL, *PRICE, REQUEST)
    return (
        Endpoint("POST", "/jobs", ASKERS, "Ask a question whose answer you fetch later.", jobs.submit, asked),
        Endpoint("GET", "/jobs/{id}", ASKERS, "How far a job is, and the id of its answer.", jobs.state),
        Endpoint("DELETE", "/jobs/{id}", ASKERS, "Take a job back that has not begun.", jobs.cancel),
    )
