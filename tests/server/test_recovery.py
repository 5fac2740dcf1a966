"""What was charged when the machine stopped is answered afterwards, though what was not synced is gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.principal import Principal
from dither.curator.walk import Walk
from dither.ledger import LedgerAway
from dither.server.questions import Questions
from dither.server.recovery import Recovery
from dither.server.store import Store
from dither.server.tokens import Tokens

ALICE = Principal.analyst("alice")
BODY = {"sql": "SELECT COUNT(*) FROM visits WHERE age > 3", "epsilon": "0.01", "confidence": "0.9", "request": "r1"}


@dataclass
class Stopped:
    """A server that stopped after a charge, and began again."""

    curator: dt.Curator
    store: Store
    questions: Questions

    def recover(self) -> None:
        recovery = Recovery(self.curator.service.pending, self.questions, self.store)
        recovery.take_up(int(time.time()) + 3600)

    @property
    def charges(self) -> int:
        return [entry.kind for entry in self.curator.ledger()].count("reserve")


@pytest.fixture(params=["pure", "zcdp"])
def stopped(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stopped]:
    budget: Any = dt.PureDP if request.param == "pure" else lambda epsilon: dt.ApproxDP(epsilon, "1e-6")
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=budget(4))
        source = pa.table({"pid": range(50), "age": range(50)})
        declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": {"age": dt.Int(0, 120)}}
        curator.register("visits", source, people="patients", **declared)
        curator.analyst("alice", budget=dt.PureDP(1) if request.param == "pure" else dt.ApproxDP(1, "1e-7"))
        store = Store(tmp_path / "clinic")

        def stops(*_: object) -> Any:
            raise LedgerAway("the machine stops")

        with monkeypatch.context() as patch:
            patch.setattr(Walk, "_attempt", stops)
            with pytest.raises(LedgerAway):
                Questions(curator.service, store, Tokens(store)).asked(ALICE, BODY)
        yield Stopped(curator, store, Questions(curator.service, store, Tokens(store)))
        store.close()


def forget(stopped: Stopped) -> None:
    with stopped.store._transaction() as connection:
        connection.execute("DELETE FROM requests")


def check(stopped: Stopped) -> None:
    forget(stopped)
    stopped.recover()
    assert stopped.curator.service.pending() == [], "it is answered"
    first = stopped.questions.asked(ALICE, BODY)
    assert stopped.questions.asked(ALICE, BODY) == first
    assert stopped.charges == 1, "and charged once"


def test_a_charge_whose_body_is_lost_is_answered(stopped: Stopped) -> None:
    check(stopped)


def test_planted_bug_only_bodies_are_taken_up(stopped: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recovery, "_as_charged", lambda *_: None)
    with pytest.raises(AssertionError, match="it is answered"):
        check(stopped)


def test_a_retry_comes_first(stopped: Stopped) -> None:
    forget(stopped)
    stopped.questions.asked(ALICE, BODY)
    stopped.recover()
    assert (stopped.curator.service.pending(), stopped.charges) == ([], 1)


def test_what_another_process_has_in_hand_is_left_to_it(stopped: Stopped) -> None:
    recovery = Recovery(stopped.curator.service.pending, stopped.questions, stopped.store)
    assert recovery.take_up(int(time.time())) == 0
    assert len(stopped.curator.service.pending()) == 1
