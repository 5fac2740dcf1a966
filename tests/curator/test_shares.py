"""One analyst with slow questions does not keep all others from asking."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

import pytest

import dither as dt
from dither.server.throttle import computing

COUNT = "SELECT COUNT(*) FROM visits"


class Blocks:
    """An engine in which questions asked by threads named alice take until they are let go."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.go = engine, threading.Event()

    def run(self, statement: Any) -> Any:
        if threading.current_thread().name == "alice":
            self.go.wait()
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def check_others_are_answered(clinic: dt.Curator) -> None:
    clinic.limits(dt.Limits(workers=2, wait_seconds=1))
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(1)) for name in ("alice", "bob"))
    engine = clinic._engine = Blocks(clinic._engine)  # type: ignore[assignment]
    slots = engine.home._workers._slots

    def ask(number: int) -> None:
        with suppress(dt.Busy):
            alice.sql(f"SELECT COUNT(*) FROM visits WHERE age > {number}", epsilon="0.1")

    def settled() -> bool:
        with slots._changed:
            left = sum(thread.is_alive() for thread in threads)
            return slots.taken > 0 and left <= slots.taken + len(slots._waiting)

    threads = [threading.Thread(target=ask, args=(number,), name="alice") for number in range(3)]
    try:
        for thread in threads:
            thread.start()
        # As many as can have a worker have one, and the others wait or were refused.
        while not settled():
            time.sleep(0.01)
        assert len(bob.sql(COUNT, epsilon="0.1")) == 1
    finally:
        engine.go.set()
        for thread in threads:
            thread.join()
    clinic.verify()


def test_slow_questions_of_one_analyst_leave_a_worker_to_others(clinic: dt.Curator) -> None:
    """Threat 59."""
    check_others_are_answered(clinic)


def test_the_same_where_questions_are_charged_ahead(clinic: dt.Curator) -> None:
    clinic.charge_ahead(4, computing(2))
    check_others_are_answered(clinic)


def test_planted_bug_no_share_of_the_workers(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.engines.duckdb.slots.share", lambda most: most)
    with pytest.raises(dt.Busy):
        check_others_are_answered(clinic)
