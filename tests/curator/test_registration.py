"""Tables come and go; a failed load leaves the old data, no copy of the new, and no number to be used twice."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.ledger import Ledger
from dither.policy.store import PolicyFile

COUNT = "SELECT COUNT(*) FROM visits"


def snapshots(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "snapshots").glob("*.duckdb"))


def test_refresh_and_drop_delete_the_old_copy(clinic: dt.Curator, folder: Path, visits: Any) -> None:
    assert snapshots(folder) == ["visits-000001.duckdb"]
    clinic.refresh("VISITS", visits(older=5))
    assert snapshots(folder) == ["visits-000002.duckdb"]
    clinic.sql(COUNT, epsilon=1)
    clinic.drop("visits")
    assert snapshots(folder) == []
    assert clinic.tables() == []
    assert clinic.budget("patients").spent.epsilon == 1
    events = [(entry.kind, entry.body.get("snapshot")) for entry in clinic.ledger() if "table" in entry.body]
    assert events == [("register", "1"), ("refresh", "2"), ("drop", None)]


def test_a_failed_refresh_keeps_the_old_data_and_its_answers(clinic: dt.Curator, folder: Path, visits: Any) -> None:
    answer = clinic.sql(COUNT, epsilon=1)
    with pytest.raises(dt.PolicyError, match="no column 'paid'"):
        clinic.refresh("visits", visits().drop_columns(["paid"]))
    assert snapshots(folder) == ["visits-000001.duckdb"]
    assert clinic.sql(COUNT, epsilon=1).to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    clinic.refresh("visits", visits())
    assert snapshots(folder) == ["visits-000003.duckdb"], "a number is never given out twice, not even after a failure"


@pytest.mark.parametrize("failing", ["record", "write"])
def test_an_undeclared_copy_is_not_left_behind(
    clinic: dt.Curator, folder: Path, visits: Any, declared: Any, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The disk fills up after the data are in, before they are declared."""
    before = clinic.tables()
    write = PolicyFile.write

    def full(*given: Any, **named: Any) -> Any:
        raise dt.LedgerError("no space left")

    def full_later(self: PolicyFile, policy: Any) -> None:
        if "more" in policy.tables:
            full()
        write(self, policy)

    if failing == "record":
        monkeypatch.setattr(Ledger, "record", full)
    else:
        monkeypatch.setattr(PolicyFile, "write", full_later)
    with pytest.raises(dt.LedgerError, match="no space"):
        clinic.register("more", visits(), people="patients", **declared)
    monkeypatch.undo()
    assert clinic.tables() == before
    assert snapshots(folder) == ["visits-000001.duckdb"]
    clinic.register("more", visits(), people="patients", **declared)


def test_two_curators_share_a_folder(clinic: dt.Curator, folder: Path, visits: Any, declared: Any) -> None:
    with dt.Curator.open(folder) as other:
        other.register("more", visits(), people="patients", **declared)
        clinic.sql("SELECT COUNT(*) FROM more", epsilon=1)
        assert other.budget("patients").spent.epsilon == 1
        clinic.refresh("visits", visits(older=5))
        assert other.sql(COUNT, epsilon=1).names == ("count",)
        other.drop("more")
        with pytest.raises(dt.PolicyError, match="there is no table 'more'"):
            clinic.sql("SELECT COUNT(*) FROM more", epsilon=1)


def test_register_without_people_makes_them(clinic: dt.Curator, visits: Any, declared: Any) -> None:
    clinic.register("Survey", visits(), budget=dt.PureDP(2), **declared)
    clinic.sql("SELECT COUNT(*) FROM survey", epsilon=1)
    assert clinic.budget("survey").spent.epsilon == 1
    assert clinic.budget("patients").spent.epsilon == 0
    clinic.drop("survey")
    clinic.register("survey", visits(), budget=dt.PureDP(2), **declared)
    assert clinic.budget("survey").spent.epsilon == 1, "registering again resets nothing"


def test_progress_is_shown(make: Callable[..., dt.Curator], visits: Any) -> None:
    seen: list[float] = []
    clinic = make()
    clinic.refresh("visits", visits(), progress=lambda _, done: seen.append(done))
    assert seen[-1] == 1
    assert seen == sorted(seen)


def test_an_interrupt_is_no_damaged_source(clinic: dt.Curator, folder: Path, visits: Any) -> None:
    whole, before = visits(), sorted((folder / "snapshots").glob("*.duckdb"))

    def batches() -> Any:
        yield from whole.to_batches()
        signal.raise_signal(signal.SIGINT)
        while True:
            yield from whole.to_batches()

    # A process that a shell has put into the background ignores interrupts.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            clinic.refresh("visits", pa.RecordBatchReader.from_batches(whole.schema, batches()))
    finally:
        signal.signal(signal.SIGINT, handler)
    assert sorted((folder / "snapshots").glob("*.duckdb")) == before
    assert not list((folder / "snapshots").glob(".loading-*"))


def test_what_a_killed_refresh_left_behind_is_removed_by_the_next_load(
    clinic: dt.Curator, folder: Path, visits: Any
) -> None:
    (folder / "snapshots" / "visits-000000.duckdb").write_bytes(b"an old copy")
    clinic.refresh("visits", visits())
    assert snapshots(folder) == ["visits-000002.duckdb"]


def test_a_restored_policy_file_does_not_give_a_number_out_twice(clinic: dt.Curator, folder: Path, visits: Any) -> None:
    """Otherwise an answer stored for the old data could be shown for the new."""
    old = (folder / "policy.json").read_bytes()
    clinic.refresh("visits", visits(older=1))
    paid = clinic.sql(COUNT, epsilon=1)
    (folder / "policy.json").write_bytes(old)
    clinic.refresh("visits", visits(older=2))
    assert snapshots(folder) == ["visits-000003.duckdb"]
    assert clinic.sql(COUNT, epsilon=1) is not paid
    assert clinic.budget("patients").spent.epsilon == 2


class RefreshesMeanwhile:
    """An engine under which somebody refreshes the table while a statement is about to run."""

    def __init__(self, engine: Any, refresh: Callable[[], object]) -> None:
        self._engine, self.thread, self.waited = engine, threading.Thread(target=refresh), False

    def run(self, statement: Any) -> Any:
        self.thread.start()
        self.thread.join(timeout=1)
        self.waited = self.thread.is_alive()
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def test_a_refresh_waits_for_questions_under_way(clinic: dt.Curator, folder: Path, visits: Any) -> None:
    """What was charged on one snapshot runs on it, though another process replaces it."""
    with dt.Curator.open(folder) as other:
        engine = RefreshesMeanwhile(clinic._engine, lambda: other.refresh("visits", visits(older=5)))
        clinic._engine = engine  # type: ignore[assignment]
        clinic.sql(COUNT, epsilon=1)
        engine.thread.join()
    assert engine.waited
    assert snapshots(folder) == ["visits-000002.duckdb"]


def test_history_is_numbered_by_itself(clinic: dt.Curator) -> None:
    clinic.analyst("bob", budget=dt.PureDP(1)).sql(COUNT, epsilon=1)
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    alice.sql(COUNT, epsilon=1)
    assert [entry.sequence for entry in alice.history()] == [1, 2]
