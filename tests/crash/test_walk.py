"""Threats 4 and 46 through the curator: killed at every statement of the engine and of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import crash_kills as kills
import pyarrow as pa
import pytest

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.curator.run import release as run_and_add_noise
from dither.curator.walk import Walk
from dither.policy.columns import Int, Text

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)
Release = Callable[[bytes], object]


def question(request: str) -> str:
    """A question never asked before."""
    return f"SELECT COUNT(*), SUM(age) FROM visits WHERE remark <> '{request}'"


def shown(answer: Any) -> bytes:
    return str(answer.to_dicts(intervals=True)).encode()


def desk(folder: Path, kind: type[Walk] = Walk) -> kills.Opening:
    """A curator whom alice asks."""

    @contextmanager
    def opening(release: Release) -> Iterator[kills.Desk]:
        RunsBeforeCharging.release = staticmethod(release)
        with Curator.open(folder) as curator:
            curator._walk.__class__ = kind
            alice = curator.analyst("alice")
            yield kills.Desk(
                lambda request: shown(alice.sql(question(request), epsilon=PRICE, request=request)),
                lambda: curator.budget("patients").spent.epsilon,
                lambda: curator._ledger.pending(),
                curator.verify,
            )

    return opening


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A curator's folder with one table and a large budget, closed."""
    rows = pa.table({"patient": [1, 1, 2, 3], "age": [30, 31, 60, 90], "remark": ["a", "b", "c", "d"]})
    with Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=PureDP(9000))
        curator.analyst("alice", budget=PureDP(9000))
        columns = {"age": Int(0, 120), "remark": Text()}
        curator.register("visits", rows, people="patients", owner="patient", max_rows_per_owner=2, columns=columns)
    return tmp_path / "clinic"


def test_killed_at_every_statement_of_the_engine(visits: Path, in_child: Any, tally: Any) -> None:
    killed = kills.kill_everywhere("calls", visits, desk(visits), in_child, price=PRICE)
    tally(kills=killed)
    assert killed >= 10


def test_killed_at_statements_of_the_ledger(visits: Path, in_child: Any, tally: Any, campaign: bool) -> None:
    stride = 1 if campaign else 9
    killed = kills.kill_everywhere("statements", visits, desk(visits), in_child, price=PRICE, stride=stride)
    tally(kills=killed)
    assert killed > 60 // stride


class RunsBeforeCharging(Walk):
    """Planted bug: run, tell, then charge."""

    release: Release = staticmethod(len)

    def _stored(self, analyst: str | None, priced: Any, *known: Any) -> Any:
        self.release(run_and_add_noise(priced, self._engine).to_bytes())
        return super()._stored(analyst, priced, *known)


class AnswersAnew(Walk):
    """Planted bug: what is told is not what was stored."""

    def answer(self, *asked: Any) -> Any:
        priced, *_ = super().answer(*asked)
        return priced, run_and_add_noise(priced, self._engine).to_bytes(), True


@pytest.mark.parametrize(
    ("kind", "events", "words"),
    [
        (RunsBeforeCharging, "statements", "released implies charged"),
        (AnswersAnew, "calls", "retry returns the same bytes"),
    ],
)
def test_planted_bugs_are_caught(visits: Path, in_child: Any, kind: type[Walk], events: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        kills.kill_everywhere(events, visits, desk(visits, kind), in_child, price=PRICE, stride=9)
