"""Request ids make a retry safe: one charge, one answer, whatever happened in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.curator.repeats import Repeats
from dither.sql.planner.strategy import Strategy

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
COUNT = "SELECT COUNT(*) FROM visits"
Killed = Callable[[Callable[[], object]], None]


class KillsAtRun:
    """An engine under which the process dies."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def run(self, statement: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def die_while_asking(folder: Path, request: str | None) -> None:
    curator = dt.Curator.open(folder)
    curator._engine = KillsAtRun(curator._engine)  # type: ignore[assignment]
    curator.analyst("alice", budget=dt.PureDP(2)).sql(COUNT, epsilon=1, request=request)


def test_a_request_left_by_a_killed_process_is_answered_under_its_own_charge(
    clinic: dt.Curator, folder: Path, killed: Killed
) -> None:
    killed(lambda: die_while_asking(folder, "r1"))
    assert [pending.request for pending in clinic._ledger.pending()] == ["r1"]
    assert clinic.budget("patients").spent.epsilon == 1
    alice = clinic.analyst("alice")
    answer = alice.sql(COUNT, epsilon=1, request="r1")
    assert alice.sql(COUNT, epsilon=1, request="r1").to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    assert alice.sql(COUNT, epsilon=1).to_dicts(intervals=True) == answer.to_dicts(intervals=True), (
        "it is the analyst's answer from now on"
    )
    assert clinic.budget("patients").spent.epsilon == 1
    assert clinic._ledger.pending() == []
    clinic.verify()


def test_without_a_request_id_a_killed_question_stays_charged(clinic: dt.Curator, folder: Path, killed: Killed) -> None:
    killed(lambda: die_while_asking(folder, None))
    clinic.analyst("alice").sql(COUNT, epsilon=1)
    assert clinic.budget("patients").spent.epsilon == 2


def test_a_request_whose_snapshot_is_gone_is_settled_as_failed(
    clinic: dt.Curator, folder: Path, killed: Killed, visits: Any
) -> None:
    killed(lambda: die_while_asking(folder, "r1"))
    clinic.refresh("visits", visits(older=5))
    for _ in range(2):
        with pytest.raises(dt.QueryFailed):
            clinic.analyst("alice").sql(COUNT, epsilon=1, request="r1")
    assert clinic.budget("patients").spent.epsilon == 1
    assert clinic._ledger.pending() == []
    assert clinic._ledger.breaker.incidents() == {}, "the curator refreshed: no data decided that"


def test_a_request_whose_file_is_gone_is_no_incident(clinic: dt.Curator, folder: Path, killed: Killed) -> None:
    killed(lambda: die_while_asking(folder, "r1"))
    clinic._engine.close()
    for snapshot in (folder / "snapshots").glob("*.duckdb"):
        snapshot.unlink()
    with pytest.raises(dt.QueryFailed):
        clinic.analyst("alice").sql(COUNT, epsilon=1, request="r1")
    assert [entry.kind for entry in clinic.ledger()][-1] == "fail"
    assert clinic._ledger.breaker.incidents() == {}
    clinic.verify()


def test_a_request_that_is_run_again_and_fails_is_one_incident(
    clinic: dt.Curator, folder: Path, killed: Killed, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(lambda: die_while_asking(folder, "r1"))
    monkeypatch.setattr("dither.curator.run._noisy", lambda *_: 1 // 0)
    for _ in range(2):
        with pytest.raises(dt.QueryFailed):
            clinic.analyst("alice").sql(COUNT, epsilon=1, request="r1")
        assert clinic._ledger.breaker.incidents() == {"patients": 1}
    clinic.thaw("patients")
    with pytest.raises(dt.QueryFailed):
        clinic.analyst("alice").sql(COUNT, epsilon=1, request="r1")
    assert clinic._ledger.breaker.incidents() == {}, "it is failed, and is not run again"
    clinic.verify()


def test_a_plan_that_is_no_longer_made_is_settled_as_failed(
    clinic: dt.Curator, folder: Path, killed: Killed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version may have died after it recorded a limit on the rows of an owner in each group."""
    with monkeypatch.context() as earlier:
        earlier.setattr(Strategy, "document", lambda _: {"rows_in_group": 1})
        killed(lambda: die_while_asking(folder, "r1"))
    for _ in range(2):
        with pytest.raises(dt.QueryFailed):
            clinic.analyst("alice").sql(COUNT, epsilon=1, request="r1")
    assert clinic.budget("patients").spent.epsilon == 1
    assert clinic._ledger.pending() == []


def test_an_answered_request_survives_a_refresh(clinic: dt.Curator, visits: Any) -> None:
    answer = clinic.sql(COUNT, epsilon=1, request="r1")
    clinic.refresh("visits", visits(older=5))
    assert clinic.sql(COUNT, epsilon=1, request="r1").to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    assert clinic.budget("patients").spent.epsilon == 1


def test_a_request_id_means_one_question_at_one_price(clinic: dt.Curator) -> None:
    clinic.sql(COUNT, epsilon=1, request="r1")
    for text, price in ((COUNT, "0.5"), ("SELECT SUM(age) FROM visits", 1)):
        with pytest.raises(dt.PolicyError, match="'r1' was used before"):
            clinic.sql(text, epsilon=price, request="r1")
    assert clinic.budget("patients").spent.epsilon == 1


def test_a_repeat_is_free_under_a_new_request_id_too(clinic: dt.Curator) -> None:
    answer = clinic.sql(COUNT, epsilon=1, request="r1")
    for request in ("r2", "r3", None):
        assert clinic.sql(COUNT, epsilon=1, request=request).to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    assert clinic.budget("patients").spent.epsilon == 1


def check_a_repeat_binds_its_id(clinic: dt.Curator, visits: Any) -> None:
    """A lost answer, a refresh and a retry: without the binding the retry would be a new question."""
    alice = clinic.analyst("alice", budget=dt.PureDP(2))
    alice.sql(COUNT, epsilon="0.5", request="r1")
    repeated = alice.sql(COUNT, epsilon="0.25", request="r2").to_dicts(intervals=True)
    alice.sql(COUNT, epsilon=1, request="better")
    assert alice.sql(COUNT, epsilon="0.25", request="r2").to_dicts(intervals=True) == repeated, "the same answer"
    clinic.refresh("visits", visits(older=5))
    assert alice.sql(COUNT, epsilon="0.25", request="r2").to_dicts(intervals=True) == repeated, "the same answer"
    assert alice.budget().spent.epsilon == Fraction(3, 2), "and nothing is charged"


def test_a_free_repeat_binds_its_request_id(clinic: dt.Curator, visits: Any) -> None:
    check_a_repeat_binds_its_id(clinic, visits)


def test_planted_bug_free_repeats_leave_their_ids_unused(
    clinic: dt.Curator, visits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repeats, "bind", lambda *given: given[-1])
    with pytest.raises(AssertionError, match="the same answer"):
        check_a_repeat_binds_its_id(clinic, visits)


def test_the_id_of_a_repeat_means_one_question_at_one_price(clinic: dt.Curator, folder: Path) -> None:
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(1)) for name in ("alice", "bob"))
    alice.sql(COUNT, epsilon="0.5")
    alice.sql(COUNT, epsilon="0.25", request="r2")
    for text, price in ((COUNT, "0.5"), ("SELECT SUM(age) FROM visits", "0.25")):
        with pytest.raises(dt.PolicyError, match="'r2' was used before"):
            alice.sql(text, epsilon=price, request="r2")
    assert bob.sql(COUNT, epsilon="0.25", request="r2").charged, "ids are the analyst's own"
    (path,) = (folder / "repeats").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    path.write_text(path.read_text().replace('"reservation": ', '"reservation": 1'))
    with pytest.raises((dt.PolicyError, dt.LedgerCorrupt)):
        alice.sql(COUNT, epsilon="0.25", request="r2")
    assert alice.budget().spent.epsilon == Fraction(1, 2)


def test_one_request_from_many_threads_is_charged_once(clinic: dt.Curator) -> None:
    """Whoever settles first wins; the others discard their own noise."""
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(clinic.sql, COUNT, epsilon=1, request="r1") for _ in range(16)]
        answers = {str(future.result().to_dicts(intervals=True)) for future in asked}
    assert len(answers) == 1
    assert clinic.budget("patients").spent.epsilon == 1


def test_request_ids_belong_to_an_analyst(clinic: dt.Curator) -> None:
    clinic.analyst("alice", budget=dt.PureDP(1)).sql(COUNT, epsilon=1, request="r1")
    clinic.analyst("bob", budget=dt.PureDP(1)).sql("SELECT SUM(age) FROM visits", epsilon=1, request="r1")
    assert clinic.budget("patients").spent.epsilon == 2


def test_an_answered_request_under_another_declaration(clinic: dt.Curator, visits: Any, declared: Any) -> None:
    """The stored numbers stand in the order of the old labels; they must never be shown under others."""
    text = "SELECT region, COUNT(*) FROM visits GROUP BY region"
    clinic.sql(text, epsilon=1, request="r1")
    clinic.drop("visits")
    declared["columns"]["region"] = dt.Category(["south", "north"])
    clinic.register("visits", visits(), people="patients", **declared)
    with pytest.raises(dt.PolicyError, match="declared differently"):
        clinic.sql(text, epsilon=1, request="r1")
    assert clinic.budget("patients").spent.epsilon == 1


def test_a_new_request_id_does_not_make_a_repeat_cost(clinic: dt.Curator) -> None:
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    paid = alice.sql(COUNT, epsilon=1, request="r1")
    assert alice.sql(COUNT, epsilon=1, request="r2").to_dicts(intervals=True) == paid.to_dicts(intervals=True)
    assert clinic.budget("patients").spent.epsilon == 1


def test_an_answer_says_whether_it_was_charged(clinic: dt.Curator) -> None:
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    assert alice.sql(COUNT, epsilon=1, request="r1").charged
    assert not alice.sql(COUNT, epsilon=1, request="r1").charged
    again = alice.sql(COUNT, epsilon="0.5")
    assert not again.charged
    assert "nothing was charged now" in str(again)
