"""On request, when an answer is given follows from its plan alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dither as dt
from dither.curator.time_grid import Clock, Release, doubled
from dither.curator.walk import Walk

COUNT = "SELECT COUNT(*) FROM visits"
LIMITS = dt.Limits(answer_on_grid="0.25", statement_seconds=3, max_incidents=2)  # answers after 4 seconds


class Time:
    """A clock that moves only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 1000.0

    def pass_(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


class Takes:
    """An engine whose statements take some time, and may fail."""

    def __init__(self, engine: Any, time: Time, seconds: float, *, fails: bool = False) -> None:
        self._engine, self._time, self._seconds, self._fails = engine, time, seconds, fails

    def run(self, statement: Any) -> Any:
        self._time.pass_(self._seconds)
        if self._fails:
            raise ZeroDivisionError
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@pytest.fixture
def time(clinic: dt.Curator) -> Time:
    made = Time()
    clinic._walk._clock = Clock(lambda: made.now, made.pass_)
    clinic.limits(LIMITS)
    return made


def asked(clinic: dt.Curator, time: Time, seconds: float, epsilon: str, *, fails: bool = False) -> float:
    """Seconds from the question to its answer or failure."""
    sound, started = clinic._engine, time.now
    clinic._engine = Takes(sound, time, seconds, fails=fails)  # type: ignore[assignment]
    try:
        clinic.sql(COUNT, epsilon=epsilon)
    except dt.QueryFailed:
        assert fails
    finally:
        clinic._engine = sound
    return time.now - started


def check_times(clinic: dt.Curator, time: Time) -> None:
    times = {asked(clinic, time, seconds, f"0.0{number}") for number, seconds in enumerate([0, 0.5, 2, 3.75, 4], 1)}
    times.add(asked(clinic, time, 1, "0.09", fails=True))
    assert times == {4.0}, "time shows how long the statement took"


def test_the_time_of_an_answer_follows_from_its_plan(clinic: dt.Curator, time: Time) -> None:
    check_times(clinic, time)
    assert [entry.body["reason"] for entry in clinic.ledger() if entry.kind == "incident"] == ["failed"]


def test_planted_answers_as_soon_as_they_are_there(
    clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.curator.walk.release_of", lambda priced, limits: None)
    with pytest.raises(AssertionError, match="time shows"):
        check_times(clinic, time)


def test_repeats_and_refusals_are_given_at_once(clinic: dt.Curator, time: Time) -> None:
    """They follow from the plan and the ledger alone."""
    paid = clinic.sql(COUNT, epsilon=1)
    now = time.now
    assert clinic.sql(COUNT, epsilon=1).to_dicts(intervals=True) == paid.to_dicts(intervals=True)
    with pytest.raises(dt.BudgetExceeded):
        clinic.sql(COUNT, epsilon=100)
    with pytest.raises(dt.UnsupportedQuery):
        clinic.sql("SELECT 1", epsilon=1)
    assert time.now == now


def test_nothing_shows_before_its_time(clinic: dt.Curator, time: Time) -> None:
    """While it waits: no settlement, no history of it, no worker, no lock."""
    alice, seen = clinic.analyst("alice", budget=dt.PureDP(1)), []

    def sleep(seconds: float) -> None:
        kinds = [entry.kind for entry in clinic.ledger()]
        seen.append((kinds[-1], [entry.kind for entry in alice.history()], clinic._engine.home._workers._slots.taken))  # type: ignore[attr-defined]
        with clinic._policy.exclusive():
            time.pass_(seconds)

    clinic._walk._clock = Clock(lambda: time.now, sleep)
    alice.sql(COUNT, epsilon=1)
    assert seen == [("reserve", ["account", "reserve"], 0)]
    assert [entry.kind for entry in clinic.ledger()][-1] == "settle"
    assert [entry.kind for entry in alice.history()] == ["account", "reserve"], "an answer's own time is in no history"


def test_late_answers_are_incidents_at_the_next_power_of_two(clinic: dt.Curator, time: Time) -> None:
    assert asked(clinic, time, 5, "0.1") == 8
    assert [entry.kind for entry in clinic.ledger()][-3:] == ["reserve", "incident", "settle"]
    assert asked(clinic, time, 17, "0.2") == 32
    assert [entry.kind for entry in clinic.ledger()][-4:] == ["reserve", "incident", "freeze", "settle"]
    with pytest.raises(dt.PeopleFrozen):
        clinic.sql(COUNT, epsilon="0.3")
    clinic.verify()


class Busy:
    """An engine of which others keep all workers for some time."""

    def __init__(self, engine: Any, time: Time, seconds: float) -> None:
        self._engine, self._time, self._seconds = engine, time, seconds

    def slot(self, analyst: str | None, on: str) -> Any:
        self._time.pass_(self._seconds)
        return self._engine.slot(analyst, on)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _waits_for_a_worker(clinic: dt.Curator, time: Time) -> list[str]:
    sound, started = clinic._engine, time.now
    clinic._engine = Busy(sound, time, 9)  # type: ignore[assignment]
    try:
        clinic.sql(COUNT, epsilon="0.01")
    finally:
        clinic._engine = sound
    assert time.now - started == 16
    return [entry.kind for entry in clinic.ledger()]


def test_waiting_for_a_worker_is_no_incident(clinic: dt.Curator, time: Time) -> None:
    assert "incident" not in _waits_for_a_worker(clinic, time)


def test_planted_waiting_counts(clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Walk._settled

    def settled(walk: Any, reservation: Any, drawn: Any, asked: float, begun: float, due: Any) -> bytes:
        return sound(walk, reservation, drawn, asked, asked, due)

    monkeypatch.setattr(Walk, "_settled", settled)
    assert "incident" in _waits_for_a_worker(clinic, time)


def check_own_time_is_hidden(clinic: dt.Curator, time: Time) -> None:
    """After a wait that leaves less of the first multiple of the grid than the statement may take."""
    sound, times = clinic._engine, set()
    for number, seconds in enumerate([0, 0.25, 1, 3], 1):
        clinic._engine = Busy(sound, time, 3.5)  # type: ignore[assignment]
        times.add(asked(clinic, time, seconds, f"0.0{number}"))
    clinic._engine = sound
    assert times == {8.0}, "time shows how long the statement took"


def test_after_a_wait_its_own_time_does_not_show(clinic: dt.Curator, time: Time) -> None:
    check_own_time_is_hidden(clinic, time)
    assert "incident" not in [entry.kind for entry in clinic.ledger()]


def test_planted_release_at_the_first_multiple_that_is_left(
    clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Release, "after", lambda self, waited: doubled(self.grid, self.bound))
    with pytest.raises(AssertionError, match="time shows"):
        check_own_time_is_hidden(clinic, time)


def test_multiples_of_the_grid_are_powers_of_two() -> None:
    grid = Fraction(1, 10)
    for least in (Fraction(0), grid, Fraction(11, 100), Fraction(5), Fraction(64, 10), Fraction(641, 100)):
        found = doubled(grid, least)
        assert found >= least
        assert (found / grid).denominator == 1
        assert (int(found / grid) & (int(found / grid) - 1)) == 0
        assert found == grid or found / 2 < least
