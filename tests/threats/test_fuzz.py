"""Threats 1, 3, 37 and 41: mutated texts never crash anything; refusals are quick, unread and unpaid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import threats_harness as harness
import threats_population as population
import threats_queries as queries
from threats_generator import Generator
from threats_mutations import DIALECTS, Mutator

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.curator.walk import Walk
from dither.errors import BudgetExceeded, DitherError, UnsupportedQuery

PARTS, TEXTS = 2, 1500
QUICK = 0.05 if population.CAMPAIGN > 1 else 0.25  # seconds of work; the tests run on slower machines than campaigns


class Slip(AssertionError):
    """A text that should have been refused cleanly was not."""


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """A curator whose people can pay for nothing, so that every text is refused: at the latest when it should pay."""
    folder = tmp_path_factory.mktemp("poor") / "curator"
    side = harness.make_side(folder, population.few(), budget=ApproxDP("1e-6", "1e-9"))
    side.curator._engine = side.engine  # type: ignore[assignment]
    yield side.curator
    side.curator.close()


def check_refused(curator: Curator, text: str, dialect: str | None = None) -> DitherError:
    """The refusal of a text, which cost little time, nothing of the budget, and which no engine heard of."""
    engine: Any = curator._engine
    engine.heard.clear()
    before, started = curator._ledger.balance("everybody", None), time.thread_time()
    try:
        curator.sql(text, epsilon=1, dialect=dialect)
    except DitherError as refusal:
        caught, took = refusal, time.thread_time() - started
    except Exception as crash:
        raise Slip(f"crash: {type(crash).__name__} on {text!r}") from crash
    else:
        raise Slip(f"answered: {text!r}")
    if engine.heard:
        raise Slip(f"the engine heard of {text!r}")
    if curator._ledger.balance("everybody", None) != before:
        raise Slip(f"charged for {text!r}")
    if took > QUICK and min(_time(curator, text, dialect) for _ in range(5)) > QUICK:
        raise Slip(f"slow in {dialect}: {text!r}")
    return caught


def _time(curator: Curator, text: str, dialect: str | None) -> float:
    """Seconds of this thread's own work, so that a busy machine does not count."""
    started = time.thread_time()
    with pytest.raises(DitherError):
        curator.sql(text, epsilon=1, dialect=dialect)
    return time.thread_time() - started


def seeds() -> list[str]:
    generator = Generator(3, population.declared())
    known = [*queries.FORMS.values(), *queries.NASTY.values(), *queries.REFUSED]
    return known + [generator.question() for _ in range(300)]


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_texts(
    poor: Curator, sides: dict[str, harness.Side], part: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mutator = Mutator(part + 1000 * population.SEED, seeds())
    entries = len([*poor.ledger()])
    accepted, found = 0, list[str]()
    for _ in range(TEXTS * population.CAMPAIGN):
        text, dialect = mutator.text(), mutator.draw.choice([None] * 8 + [*DIALECTS, "nosuch"])
        try:
            if isinstance(check_refused(poor, text, dialect), BudgetExceeded):
                accepted += 1
                if dialect is None:
                    harness.check_neighbours(sides["few"], sides["few without 4217"], text, explained=False)
        except (Slip, harness.Leak) as slip:
            found.append(str(slip))
            (tmp_path_factory.getbasetemp() / f"slips{part}.txt").write_text("\n\n".join(found), "utf-8")
    assert not found, "\n".join(found[:20])
    assert len([*poor.ledger()]) == entries, "the ledger has grown"
    assert 0.02 < accepted / (TEXTS * population.CAMPAIGN) < 0.6, "texts must come from both sides of the border"


# Planted bugs


class Crashes(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        return super().price(text, *asker, **stated) if "SELECT" in text else text.index("SELECT")


class Listens(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        for statement in super().price("SELECT COUNT(*) FROM t", *asker, **stated).statements:
            self._engine.run(statement)
        return super().price(text, *asker, **stated)


class Charges(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        from dither.ledger import Charge

        cap = self._ledger.balance("everybody", None).left
        self._ledger.reserve("everybody", None, Charge(cap.cost), question=text, snapshot="1", plan="")
        return super().price(text, *asker, **stated)


class Dawdles(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        until = time.thread_time() + QUICK
        while time.thread_time() <= until:
            pass
        return super().price(text, *asker, **stated)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Crashes, "", "crash"),
        (Listens, "SELECT nosuch FROM t", "the engine heard"),
        (Charges, "SELECT nosuch FROM t", "charged"),
        (Dawdles, "SELECT nosuch FROM t", "slow"),
    ],
)
def test_planted_bugs(tmp_path: Path, kind: type[Walk], text: str, words: str) -> None:
    side = harness.make_side(tmp_path / "curator", population.few()["t"], budget=ApproxDP("1e-6", "1e-9"))
    check_refused(side.curator, text)
    side.curator._walk.__class__ = kind
    with pytest.raises(Slip, match=words):
        check_refused(side.curator, text)
    side.curator.close()


def test_planted_nothing_refused(poor: Curator) -> None:
    with pytest.raises(UnsupportedQuery):
        raise check_refused(poor, "SELECT nosuch FROM t GROUP BY")
