"""Threats 4 and 46 through the curator: killed at every statement of the engine and of the ledger."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.accounting import PureDP
from dither.columns import Int, Text
from dither.curator import Curator
from dither.release import release as run_and_add_noise

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)
Release = Callable[[bytes], object]


class KillAt:
    """Ends the process at the n-th statement, before or after it ran."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, *_: object) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def ledger(self) -> None:
        connect = sqlite3.connect

        def traced(*given: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(*given, **named)
            connection.set_trace_callback(self)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def engine(self) -> None:
        import duckdb

        connect = duckdb.connect
        duckdb.connect = lambda *given, **named: Between(connect(*given, **named), self)


class Between:
    """A connection, cursor or result of the engine, with something done before and after each call."""

    def __init__(self, inner: Any, event: Callable[[], None]) -> None:
        self._inner, self._event = inner, event

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            self._event()
            result = found(*given, **named)
            self._event()
            return Between(result, self._event) if "duckdb" in type(result).__module__ else result

        return call


def question(request: str) -> str:
    """A question never asked before."""
    return f"SELECT COUNT(*), SUM(age) FROM visits WHERE remark <> '{request}'"


def spent(curator: Curator) -> Any:
    return curator.budget("patients").spent.epsilon


def check_after_kill(folder: Path, request: str, before: Fraction, released: bytes) -> None:
    """What must hold after a process died while it asked under that request id."""
    with Curator.open(folder) as curator:
        curator.verify()
        now = spent(curator)
        assert now in (before, before + PRICE), "charged at most once"
        assert not released or now == before + PRICE, "released implies charged"
        answer = curator.analyst("alice").sql(question(request), epsilon=PRICE, request=request)
        assert spent(curator) == before + PRICE, "a retry is charged once in all"
        assert released in (b"", answer.to_bytes()), "a retry returns the same bytes"
        assert curator._ledger.pending() == []


def kill_everywhere(events: str, folder: Path, in_child: Any, *, stride: int, kind: type[Curator] = Curator) -> int:
    """Kill a process that asks at every `stride`-th event; how many kills there were."""
    number, kills = 1, 0
    while True:
        with Curator.open(folder) as curator:
            before = spent(curator)
        request = f"{events} {number}"

        def work(release: Release, number: int = number, request: str = request) -> None:
            getattr(KillAt(number), events)()
            RunsBeforeCharging.release = staticmethod(release)
            alice = kind.open(folder).analyst("alice")
            release(alice.sql(question(request), epsilon=PRICE, request=request).to_bytes())

        released, status = in_child(work).ended()
        check_after_kill(folder, request, before, released)
        if status == 0:
            assert released
            return kills
        assert status == -signal.SIGKILL
        kills += 1
        number += stride


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A curator's folder with one table and a large budget, closed."""
    rows = pa.table({"patient": [1, 1, 2, 3], "age": [30, 31, 60, 90], "remark": ["a", "b", "c", "d"]})
    with Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=PureDP(9000))
        columns = {"age": Int(0, 120), "remark": Text()}
        curator.register("visits", rows, people="patients", owner="patient", max_rows_per_owner=2, columns=columns)
    return tmp_path / "clinic"


def test_killed_at_every_statement_of_the_engine(visits: Path, in_child: Any, tally: Any) -> None:
    kills = kill_everywhere("engine", visits, in_child, stride=1)
    tally(kills=kills)
    assert kills >= 10


def test_killed_at_statements_of_the_ledger(visits: Path, in_child: Any, tally: Any, campaign: bool) -> None:
    stride = 1 if campaign else 9
    kills = kill_everywhere("ledger", visits, in_child, stride=stride)
    tally(kills=kills)
    assert kills > 60 // stride


class RunsBeforeCharging(Curator):
    """Planted bug: run, tell, then charge."""

    release: Release = staticmethod(len)

    def _stored(self, analyst: str | None, priced: Any, request: str | None) -> Any:
        self.release(run_and_add_noise(priced, self._engine).to_bytes())
        return super()._stored(analyst, priced, request)


class AnswersAnew(Curator):
    """Planted bug: what is told is not what was stored."""

    def _run(self, reservation: Any, priced: Any) -> bytes:
        super()._run(reservation, priced)
        return run_and_add_noise(priced, self._engine).to_bytes()


@pytest.mark.parametrize(
    ("kind", "events", "words"),
    [
        (RunsBeforeCharging, "ledger", "released implies charged"),
        (AnswersAnew, "engine", "a retry returns the same bytes"),
    ],
)
def test_planted_bugs_are_caught(visits: Path, in_child: Any, kind: type[Curator], events: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        kill_everywhere(events, visits, in_child, stride=9, kind=kind)
