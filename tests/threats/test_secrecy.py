"""Threats 2, 33 and 43: a string that one owner holds is never in a response, an exception, a log or a ledger file."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import threats_harness as harness
import threats_queries as queries
from threats_clinic import open_clinic, patients
from threats_population import CANARY, everybody

from dither.curator.curator import Curator
from dither.curator.walk import Walk
from dither.errors import DitherError, QueryFailed
from dither.mechanisms.sealed_values import Exact
from dither.sql.lowering.statement import Statement

COUNT = "SELECT region, COUNT(*), AVG(age) FROM visits WHERE remark LIKE 'canary%' GROUP BY region"


class Breaks:
    """An engine that fails on data and says which."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def run(self, statement: Statement) -> Sequence[Exact]:
        raise RuntimeError(f"Conversion Error: could not convert string '{CANARY}' to INT32")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def said_by(error: BaseException) -> Iterator[str]:
    """Everything an exception tells, and every exception it remembers."""
    yield "".join(traceback.format_exception(error))
    seen: list[BaseException | None] = [error]
    while (last := seen[-1]) is not None:
        yield repr(last) + str(last.args) + repr(vars(last))
        seen.append(last.__cause__ or last.__context__)


def shown_by(answer: Any) -> Iterator[str]:
    yield from (str(answer), answer.to_json(), answer._repr_html_(), repr(answer.to_arrow(intervals=True)))


def written_in(folder: Path) -> Iterator[str]:
    """Every file but the snapshots themselves, which are copies of the data."""
    for path in folder.rglob("*"):
        if path.is_file() and "snapshots" not in path.parts:
            yield path.read_bytes().decode("latin-1")


def check_secret(
    curator: Curator, folder: Path, texts: Sequence[str], logs: pytest.LogCaptureFixture, output: Any
) -> None:
    """Ask all of it, collect all that comes back, and look for the canary."""
    collected: list[str] = []
    asker = curator.analyst("alice")
    with logs.at_level(logging.DEBUG):
        for text in texts:
            try:
                collected += shown_by(asker.sql(text, epsilon="0.01"))
            except DitherError as error:
                collected += said_by(error)
            try:
                collected += [str(asker.explain(text, epsilon=1)), asker.explain(text, epsilon=1).to_json()]
            except DitherError as error:
                collected += said_by(error)
    collected += [
        repr(asker.tables()),
        repr(asker.history()),
        repr([*curator.ledger()]),
        logs.text,
        *output.readouterr(),
    ]
    collected += written_in(folder)
    assert len(collected) > 3 * len(texts)
    assert not any(CANARY in piece for piece in collected), "the canary sang"


def test_every_form_keeps_the_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    side = harness.make_side(tmp_path / "c", everybody())
    texts = [
        text for text in [*queries.FORMS.values(), *queries.NASTY.values(), *queries.REFUSED] if CANARY not in text
    ]
    with side.curator:
        side.curator.analyst("alice", budget=side.curator._accounts.budget("everybody"))
        check_secret(side.curator, tmp_path / "c", texts, caplog, capfd)


def test_a_broken_engine_keeps_the_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    with open_clinic(tmp_path / "c", source=patients(remark=CANARY)) as curator:
        curator._engine = Breaks(curator._engine)
        with pytest.raises(QueryFailed):
            curator.sql(COUNT, epsilon="0.01")
        check_secret(curator, tmp_path / "c", [COUNT], caplog, capfd)


class Chains(Walk):
    """Planted bug: the failure is told together with its cause."""

    def _attempt(self, reservation: Any, priced: Any) -> Any:
        try:
            self._engine.run(priced.statements[0])
        except RuntimeError as error:
            raise QueryFailed from error


class Remembers(Walk):
    """Planted bug: the cause is hidden from print, but kept."""

    def _attempt(self, reservation: Any, priced: Any) -> Any:
        try:
            self._engine.run(priced.statements[0])
        except RuntimeError:
            raise QueryFailed from None


class Logs(Walk):
    """Planted bug: the cause goes to the log."""

    def _attempt(self, reservation: Any, priced: Any) -> Any:
        try:
            self._engine.run(priced.statements[0])
        except RuntimeError as error:
            logging.getLogger("dither").debug("failed: %s", error)


class Records(Walk):
    """Planted bug: the cause goes to the ledger."""

    def _attempt(self, reservation: Any, priced: Any) -> Any:
        try:
            self._engine.run(priced.statements[0])
        except RuntimeError as error:
            self._ledger.record("failure", {"why": str(error)})


class Explains(Walk):
    """Planted bug: the explanation shows an example row."""

    def explain(self, analyst: str | None, text: str, **stated: Any) -> Any:
        return type("Told", (), {"__str__": lambda _: CANARY, "to_json": lambda _: "{}"})()


@pytest.mark.parametrize("kind", [Chains, Remembers, Logs, Records, Explains])
def test_planted_leaks(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any, kind: type[Walk]) -> None:
    with open_clinic(tmp_path / "c", source=patients(remark=CANARY)) as curator:
        curator._engine = Breaks(curator._engine)
        curator._walk.__class__ = kind
        with pytest.raises(AssertionError, match="the canary sang"):
            check_secret(curator, tmp_path / "c", [COUNT], caplog, capfd)
