"""On request, when an answer is given follows from its plan alone."""

from __future__ import annotations

import itertools
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
    """An engine of which others keep all workers for some time, and a ledger that they keep busy."""

    def __init__(self, engine: Any, time: Time, seconds: float) -> None:
        self._engine, self._time, self._seconds = engine, time, seconds

    def slot(self, analyst: str | None, on: str, patience: float | None = None) -> Any:
        patience = LIMITS.patience(patience)
        self._time.pass_(min(self._seconds, patience))
        if self._seconds > patience:
            raise dt.Busy(4, 3, waited=patience)
        self._seconds = 0
        return self._engine.slot(analyst, on)

    place = slot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def after_a_wait(clinic: dt.Curator, time: Time, waits: float, seconds: float, epsilon: str) -> float:
    """Seconds from the question to its answer, for which it waits for a worker before its statement runs."""
    sound = clinic._engine
    clinic._engine = Busy(sound, time, waits)  # type: ignore[assignment]
    try:
        return asked(clinic, time, seconds, epsilon)
    finally:
        clinic._engine = sound


def check_a_wait_does_not_show(clinic: dt.Curator, time: Time) -> None:
    """However long earlier questions keep the workers, as long as it may wait, and however long it then takes."""
    waits = itertools.product([0, 0.25, 0.5], [0, 1, 3])
    times = {after_a_wait(clinic, time, *one, f"0.0{number}") for number, one in enumerate(waits, 1)}
    assert times == {4.0}, "time shows how long a question waited"


def test_a_wait_does_not_show(clinic: dt.Curator, time: Time) -> None:
    check_a_wait_does_not_show(clinic, time)
    assert "incident" not in [entry.kind for entry in clinic.ledger()]


def check_a_longer_wait_is_refused(clinic: dt.Curator, time: Time) -> None:
    for number, waits in enumerate((0.75, 5, 9), 1):
        began = time.now
        with pytest.raises(dt.Busy):
            after_a_wait(clinic, time, waits, 1, f"0.0{number}")
        assert time.now - began == 0.5, "time shows how long it would have waited"
    assert [entry.kind for entry in clinic.ledger()][-1] != "reserve", "nothing was charged"


def test_a_longer_wait_is_refused_at_a_time_of_its_plan(clinic: dt.Curator, time: Time) -> None:
    check_a_longer_wait_is_refused(clinic, time)


def test_planted_waits_as_long_as_without_a_grid(
    clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.curator.time_grid._place", lambda engine, analyst, on, due: engine.place(analyst, on))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_a_longer_wait_is_refused(clinic, time)


def test_with_a_time_to_keep_nothing_is_charged_ahead_of_a_worker(clinic: dt.Curator, time: Time) -> None:
    """A place among those who are next would wait after the charge, for as long as others' statements run."""
    clinic._engine.charge_ahead(4)
    taken = []
    clinic._walk._ledger = _Reserving(clinic._walk._ledger, lambda: taken.append(_workers(clinic)))  # type: ignore[assignment]
    clinic.sql(COUNT, epsilon=1)
    assert taken == [1]


def _workers(clinic: dt.Curator) -> int:
    return clinic._engine.home._workers._slots.taken  # type: ignore[attr-defined, no-any-return]


class _Reserving:
    """A ledger that does something before each charge."""

    def __init__(self, ledger: Any, before: Any) -> None:
        self._ledger, self._before = ledger, before

    def reserve(self, *given: Any, **named: Any) -> Any:
        self._before()
        return self._ledger.reserve(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


def check_own_time_is_hidden(clinic: dt.Curator, time: Time) -> None:
    """After a charge that took so long that less of the first multiple is left than the statement may take."""
    sound, times = clinic._walk._ledger, set()
    for number, seconds in enumerate([0, 0.25, 1, 3], 1):
        clinic._walk._ledger = _Reserving(sound, lambda: time.pass_(3.5))  # type: ignore[assignment]
        times.add(asked(clinic, time, seconds, f"0.0{number}"))
    clinic._walk._ledger = sound
    assert times == {8.0}, "time shows how long the statement took"


def test_after_a_long_charge_its_own_time_does_not_show(clinic: dt.Curator, time: Time) -> None:
    check_own_time_is_hidden(clinic, time)
    assert "incident" not in [entry.kind for entry in clinic.ledger()]


def test_planted_release_at_the_first_multiple_that_is_left(
    clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Release, "after", lambda self, begun: doubled(self.grid, self.bound))
    with pytest.raises(AssertionError, match="time shows"):
        check_own_time_is_hidden(clinic, time)


def test_planted_a_long_charge_is_late(clinic: dt.Curator, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Walk._settled

    def settled(walk: Any, reservation: Any, drawn: Any, asked: float, begun: float, due: Any) -> bytes:
        return sound(walk, reservation, drawn, asked, asked, due)

    monkeypatch.setattr(Walk, "_settled", settled)
    clinic._walk._ledger = _Reserving(clinic._walk._ledger, lambda: time.pass_(5))  # type: ignore[assignment]
    clinic.sql(COUNT, epsilon=1)
    assert "incident" in [entry.kind for entry in clinic.ledger()]


def test_multiples_of_the_grid_are_powers_of_two() -> None:
    grid = Fraction(1, 10)
    for least in (Fraction(0), grid, Fraction(11, 100), Fraction(5), Fraction(64, 10), Fraction(641, 100)):
        found = doubled(grid, least)
        assert found >= least
        assert (found / grid).denominator == 1
        assert (int(found / grid) & (int(found / grid) - 1)) == 0
        assert found == grid or found / 2 < least
