"""A statement that is stopped, and any other failure once data were read: charged, an incident, the third freezes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.curator.run import release
from dither.curator.walk import Walk

COUNT = "SELECT COUNT(*) FROM visits"
PLANTED = {
    "slow": "SELECT CAST(SUM(a.range * b.range % 7) AS BIGINT) AS m0 FROM range(1000000000) a, range(1000000000) b",
    "greedy": "SELECT CAST(LENGTH(string_agg(repeat('x', 1000000) || range, '')) AS BIGINT) AS m0 FROM range(100000)",
    "broken": "SELECT nonsense",
}
LIMITS = dt.Limits(statement_memory=300 * 2**20, statement_seconds=1)


class Runs:
    """An engine that runs another statement than it is asked to, in a worker like any other."""

    def __init__(self, engine: Any, sql: str) -> None:
        self._engine, self._sql = engine, sql

    def run(self, statement: Any) -> Any:
        return self._engine.run(replace(statement, sql=self._sql))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def kinds(curator: dt.Curator) -> list[str]:
    return [entry.kind for entry in curator.ledger()]


def check_breaker(clinic: dt.Curator, sql: str) -> None:
    clinic.limits(LIMITS)
    alice, sound = clinic.analyst("alice", budget=dt.PureDP(2)), clinic._engine
    paid = alice.sql(COUNT, epsilon="0.5")
    clinic._engine = Runs(sound, sql)  # type: ignore[assignment]
    words = set()
    for number in range(1, 4):
        before = kinds(clinic)
        with pytest.raises(dt.QueryFailed) as caught:
            alice.sql(f"SELECT COUNT(*) FROM visits WHERE age > {number}", epsilon="0.1")
        words.add((str(caught.value), caught.value.__cause__, caught.value.__context__))
        new = kinds(clinic)[len(before) :]
        assert new[:2] == ["reserve", "fail"], "the charge stands"
        assert new[2:] == ["incident"] + ["freeze"] * (number == 3), "one incident, and the third freezes"
        assert alice.budget().spent.epsilon == Fraction(5 + number, 10)
    assert words == {(str(dt.QueryFailed()), None, None)}
    reasons = {entry.body["reason"] for entry in clinic.ledger() if entry.kind == "incident"}
    assert reasons == {"failed" if sql == PLANTED["broken"] else "stopped"}
    before = kinds(clinic)
    clinic._engine = sound
    with pytest.raises(dt.PeopleFrozen, match="Nothing was charged"):
        alice.sql(COUNT, epsilon=1)
    assert alice.sql(COUNT, epsilon="0.5").to_dicts(intervals=True) == paid.to_dicts(intervals=True), (
        "what was paid for can be asked again"
    )
    assert kinds(clinic) == before
    clinic.thaw("patients")
    assert len(alice.sql(COUNT, epsilon=1)) == 1
    clinic.verify()


@pytest.mark.parametrize("kind", PLANTED)
def test_the_third_incident_freezes(clinic: dt.Curator, kind: str) -> None:
    """Threat 58."""
    check_breaker(clinic, PLANTED[kind])


class Forgets(Walk):
    """Planted bug: an incident is a failure like any other."""

    def _incident(self, reservation: Any, reason: str) -> None:
        self._ledger.fail(reservation.id)


class CountsStopsAlone(Walk):
    """Planted bug: what fails by itself is no incident, although data may have made it fail."""

    def _incident(self, reservation: Any, reason: str) -> None:
        if reason == "failed":
            self._ledger.fail(reservation.id)
        else:
            super()._incident(reservation, reason)


class Refunds(Walk):
    """Planted bug: what could not be run is not charged."""

    def _stored(self, analyst: str | None, priced: Any, *known: Any) -> Any:
        try:
            release(priced, self._engine)
        except dt.DitherError:
            failed = True
        else:
            failed = False
        if failed:
            raise dt.QueryFailed
        return super()._stored(analyst, priced, *known)


class Counts(Walk):
    """Planted bug: incidents are counted, and nothing follows from that."""

    def _incident(self, reservation: Any, reason: str) -> None:
        self._ledger.breaker.incident(reservation.id, reason, most=10**9)


@pytest.mark.parametrize(
    ("kind", "sql", "words"),
    [
        (Forgets, "greedy", "one incident"),
        (CountsStopsAlone, "broken", "one incident"),
        (Refunds, "greedy", "the charge stands"),
        (Refunds, "broken", "the charge stands"),
        (Counts, "greedy", "the third freezes"),
    ],
)
def test_planted_bugs_of_the_breaker(clinic: dt.Curator, kind: type[Walk], sql: str, words: str) -> None:
    clinic._walk.__class__ = kind
    with pytest.raises(AssertionError, match=words):
        check_breaker(clinic, PLANTED[sql])


def test_noise_that_fails_is_an_incident(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has seen the data by then."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("dither.curator.run._noisy", fails)
    with pytest.raises(dt.QueryFailed):
        clinic.sql(COUNT, epsilon=1)
    assert kinds(clinic)[-3:] == ["reserve", "fail", "incident"]
    clinic.verify()


def test_an_answer_that_cannot_be_stored_is_no_incident(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be stored is private already, and so is its size."""

    def full(*_: object) -> None:
        raise dt.LedgerError("the disk is full")

    monkeypatch.setattr("dither.ledger.ledger.Ledger.settle", full)
    with pytest.raises(dt.QueryFailed):
        clinic.sql(COUNT, epsilon=1)
    assert kinds(clinic)[-2:] == ["reserve", "fail"]


def test_frozen_and_thawed_by_hand(clinic: dt.Curator, folder: Path) -> None:
    clinic.freeze("patients")
    with dt.Curator.open(folder) as other, pytest.raises(dt.PeopleFrozen):
        other.sql(COUNT, epsilon=1)
    assert clinic.explain(COUNT, epsilon=1), "explaining reads no data"
    clinic.thaw("patients")
    assert len(clinic.sql(COUNT, epsilon=1)) == 1
    assert kinds(clinic)[-4:] == ["freeze", "thaw", "reserve", "settle"]


def test_without_a_worker_nothing_is_charged_and_repeats_are_answered(clinic: dt.Curator) -> None:
    clinic.limits(dt.Limits(workers=1, wait_seconds=1))
    paid = clinic.sql(COUNT, epsilon=1, request="r1")
    entries, found = kinds(clinic), []

    def ask() -> None:
        for stated in ({"epsilon": 1}, {"epsilon": 1, "request": "r1"}, {"epsilon": 2}):
            try:
                found.append(clinic.sql(COUNT, **stated).to_dicts(intervals=True))  # type: ignore[arg-type]
            except dt.Busy as error:
                found.append(error)

    with clinic._engine.slot():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert found[:2] == [paid.to_dicts(intervals=True)] * 2
    assert isinstance(found[2], dt.Busy)
    assert kinds(clinic) == entries


def test_a_refresh_while_a_question_waits_for_a_worker(clinic: dt.Curator, visits: Any) -> None:
    """It is priced again: what runs is what was paid for."""
    clinic.limits(dt.Limits(workers=1, wait_seconds=600))
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(clinic.sql(COUNT, epsilon=1)))
    with clinic._engine.slot():
        thread.start()
        clinic.refresh("visits", visits(20))  # nobody who waits for a worker holds it up
    thread.join()
    assert len(found) == 1
    (reserved,) = [entry for entry in clinic.ledger() if entry.kind == "reserve"]
    assert reserved.body["snapshot"] == clinic._walk.price(COUNT, epsilon=1).snapshot
    clinic.verify()


def test_many_threads_share_few_workers(make: Callable[..., dt.Curator]) -> None:
    clinic = make(dt.PureDP(100))
    clinic.limits(dt.Limits(workers=2, wait_seconds=600))
    answers: list[Any] = []

    def ask(number: int) -> None:
        answers.append(clinic.sql(f"SELECT COUNT(*) FROM visits WHERE age > {number}", epsilon=1))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 12
    assert clinic.budget("patients").spent.epsilon == 12
    clinic.verify()
