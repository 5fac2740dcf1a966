"""A server charges more questions than it has workers, so that they share commits: none of them is lost."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import dither as dt
from dither.curator.walk import Walk
from dither.engines.duckdb import workers
from dither.errors import LedgerError
from dither.ledger import Ledger
from dither.server.throttle import computing

COUNT = "SELECT COUNT(*) FROM visits WHERE age > "


class Blocks:
    """An engine whose statements take until they are let go."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.go, self.begun = engine, threading.Event(), threading.Semaphore(0)

    def run(self, statement: Any) -> Any:
        self.begun.release()
        assert self.go.wait(120)
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def check_charged_while_others_run(clinic: dt.Curator, patience: float = 60) -> None:
    """With one worker, four questions are charged at once and run one after the other; the fifth is not charged."""
    clinic.limits(dt.Limits(workers=1, wait_seconds=60))
    clinic.charge_ahead(4, computing(2))
    engine = clinic._engine = Blocks(clinic._engine)  # type: ignore[assignment]
    found: list[Any] = []

    def ask(number: int) -> None:
        found.append(clinic.sql(f"{COUNT}{number}", epsilon="0.1", request=f"r{number}").to_dicts())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
    try:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + patience
        while len(clinic._ledger.pending()) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(clinic._ledger.pending()) == 4, "they wait for a worker and are charged"
        assert engine.begun.acquire(timeout=60)
        assert not engine.begun.acquire(blocking=False), "one runs at a time"
    finally:
        engine.go.set()
        for thread in threads:
            thread.join(120)
    assert len(found) == 5
    assert clinic._ledger.pending() == []
    assert [entry.kind for entry in clinic.ledger()].count("reserve") == 5
    clinic.verify()


def test_questions_are_charged_ahead_of_their_worker(clinic: dt.Curator) -> None:
    check_charged_while_others_run(clinic)


def test_planted_bug_no_more_places_than_workers(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.Workers, "charge_ahead", lambda *_: None)
    with pytest.raises(AssertionError, match="they wait for a worker and are charged"):
        check_charged_while_others_run(clinic, 1)


def test_whoever_has_paid_is_not_refused(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker can be started after the charge: nothing depends on data, so it is answered when it is asked again."""
    clinic.limits(dt.Limits(workers=1))
    clinic.charge_ahead(4, computing(2))

    def none(*_: object) -> Any:
        raise dt.PolicyError("no worker process could be started to run the question; nothing was charged.")

    monkeypatch.setattr(workers.Workers, "_ready", none)
    with pytest.raises(LedgerError, match="no worker process"):
        clinic.sql(f"{COUNT}1", epsilon="0.1", request="r1")
    assert len(clinic._ledger.pending()) == 1
    monkeypatch.undo()
    assert len(clinic.sql(f"{COUNT}1", epsilon="0.1", request="r1")) == 1
    assert [entry.kind for entry in clinic.ledger()].count("reserve") == 1


def check_whoever_is_first(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two run one charge, as after a crash: one of them settles it while the worker of the other dies."""
    attempt, drawn = Walk._attempt, list[bytes]()

    def dies(self: Walk, reservation: Any, priced: Any) -> bytes | None:
        found = attempt(self, reservation, priced)
        assert found is not None
        drawn.append(clinic._ledger.settle(reservation.id, found))  # by the other one
        return None

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "_attempt", dies)
        first = clinic.sql(f"{COUNT}1", epsilon="0.1", request="r1").to_dicts(intervals=True)
    assert clinic.sql(f"{COUNT}1", epsilon="0.1", request="r1").to_dicts(intervals=True) == first


def test_whoever_is_first_has_the_answer_of_both(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    check_whoever_is_first(clinic, monkeypatch)


def test_planted_bug_a_failure_hides_the_answer(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "reservation", None)
    with pytest.raises(dt.QueryFailed):
        check_whoever_is_first(clinic, monkeypatch)
