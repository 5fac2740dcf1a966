"""Threats 4, 5, 22 to 25, 46, 48, 52 and 53, through the curator: what is released is paid for, exactly once."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import threats_population as population
from threats_clinic import COUNT, add_table, open_clinic, patients, spent

from dither.accounting import ApproxDP, PureDP
from dither.curator.analyst import Analyst
from dither.curator.curator import Curator
from dither.curator.run import release
from dither.curator.walk import Walk
from dither.errors import BudgetExceeded, PolicyError
from dither.ledger import Charge, Ledger
from dither.sql.pricing.price import PricedQuestion

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)

# Threat 4: kill the process at every step


def shown(answer: Any) -> bytes:
    return str(answer.to_dicts(intervals=True)).encode()


def kill_everywhere(folder: Path, stride: int, kind: type[Walk] = Walk, first: int = 1) -> int:
    """Kill a process that asks at every `stride`-th line of the walk from the first on; how many lines there were."""
    number = first
    while True:
        with Curator.open(folder) as curator:
            before = spent(curator)
        request = f"r{number}"
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(read)
                _kill_at(number)
                Releasing.pipe = write
                curator = Curator.open(folder)
                curator._walk.__class__ = kind
                answer = curator.analyst("alice").sql(question(request), epsilon=PRICE, request=request)
                os.write(write, shown(answer))
            finally:
                os._exit(0)
        os.close(write)
        with open(read, "rb") as pipe:
            released = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        check_after_kill(folder, request, before, released)
        if status == 0:
            assert released
            return number
        assert status == -signal.SIGKILL
        number += stride


def question(request: str) -> str:
    """A question never asked before."""
    return f"{COUNT} WHERE remark <> '{request}'"


def _kill_at(number: int) -> None:
    left = number
    traced = {
        "dither.curator.curator",
        "dither.curator.analyst",
        "dither.curator.asker",
        "dither.curator.service",
        "dither.curator.walk",
        "dither.curator.run",
        "dither.curator.present",
        "dither.engines.duckdb.engine",
    }
    assert all(importlib.util.find_spec(name) for name in traced)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_globals.get("__name__") not in traced:
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def check_after_kill(folder: Path, request: str, before: Fraction, released: bytes) -> None:
    with Curator.open(folder) as curator:
        curator.verify()
        now = spent(curator)
        assert now in (before, before + PRICE), "charged at most once"
        assert not released or now == before + PRICE, "released implies charged"
        answer = curator.analyst("alice").sql(question(request), epsilon=PRICE, request=request)
        assert spent(curator) == before + PRICE, "a retry is charged once in all"
        assert released in (b"", shown(answer)), "a retry returns the same bytes"
        assert curator._ledger.pending() == []


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """A clinic with a large budget, closed."""
    with open_clinic(tmp_path / "clinic", budget=PureDP(9000)) as curator:
        curator.analyst("alice", budget=PureDP(9000))
    return tmp_path / "clinic"


def test_killed_at_every_step(rich: Path) -> None:
    assert kill_everywhere(rich, stride=1 if population.LONG else 5) > 100


class Releasing(Walk):
    """Planted bug: run, tell, then charge."""

    pipe = -1

    def _stored(self, analyst: str | None, priced: PricedQuestion, *known: Any) -> Any:
        stored = release(priced, self._engine).to_bytes()
        os.write(self.pipe, stored)
        return super()._stored(analyst, priced, *known)


def test_planted_charge_after_release(rich: Path) -> None:
    with pytest.raises(AssertionError, match="released implies charged"):
        kill_everywhere(rich, stride=3, kind=Releasing, first=100)  # a third of the walk, before anything is told


# Threat 5: many at once


def check_grants(folder: Path, kind: type[Ledger] = Ledger) -> None:
    """Many ask at once, each question priced at a tenth of the whole budget."""
    with open_clinic(folder, budget=PureDP(1), oversubscribe=True) as curator:
        analysts = [curator.analyst(f"analyst{number}", budget=PureDP(1)) for number in range(8)]
        curator._ledger.__class__ = kind
        granted: list[object] = []
        ready = threading.Barrier(8)

        def ask(analyst: Analyst) -> None:
            ready.wait()
            for number in range(4):
                with suppress(BudgetExceeded):
                    text = f"SELECT COUNT(*) FROM visits WHERE age > {number}"
                    granted.append(analyst.sql(text, epsilon=PRICE))

        threads = [threading.Thread(target=ask, args=(analyst,)) for analyst in analysts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(granted) == 10, "grants must equal the cap"
        assert spent(curator) == 1


def test_many_at_once(tmp_path: Path) -> None:
    check_grants(tmp_path / "clinic")


class LooksThenCharges(Ledger):
    """Planted bug: what was spent is read, compared and written back in separate steps."""

    tally = Fraction(0)
    looks = 0

    def reserve(self, people: str, analyst: str | None, charge: Charge, **named: Any) -> Any:
        seen = self.tally
        if seen + charge.cost > 1:
            raise BudgetExceeded("no")
        LooksThenCharges.looks += 1
        patience = time.monotonic() + 60
        while LooksThenCharges.looks < 2 and time.monotonic() < patience:  # somebody else looks, too
            time.sleep(0.001)
        self.tally = seen + charge.cost
        return replace(super().reserve(people, analyst, Charge(Fraction(1, 10**9)), **named), charge=charge)


def test_planted_unconditional_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LooksThenCharges, "looks", 0)
    with pytest.raises(AssertionError, match="grants must equal the cap"):
        check_grants(tmp_path / "clinic", LooksThenCharges)


# Threat 22: replays

SAME_QUESTION = (
    COUNT,
    "select count(*) from VISITS",
    "SELECT COUNT(*) AS n FROM visits;",
    "SELECT\n\tCOUNT(*) -- how many\nFROM visits AS v",
)


def check_replays(curator: Curator, replays: int) -> None:
    alice = curator.analyst("alice")
    first = alice.sql(COUNT, epsilon=PRICE)
    for number in range(replays):
        again = alice.sql(SAME_QUESTION[number % len(SAME_QUESTION)], epsilon=PRICE if number % 3 else PRICE / 2)
        assert again.columns[0].shown().tolist() == first.columns[0].shown().tolist(), "a repeat gives the same answer"
        assert again.price == first.price
    assert shown(alice.sql(COUNT, epsilon=PRICE)) == shown(first), "a repeat gives the same bytes"
    assert spent(curator) == PRICE, "one charge"
    assert sum(entry.kind == "reserve" for entry in curator.ledger()) == 1


def test_replays(clinic: Curator) -> None:
    check_replays(clinic, 10_000 if population.LONG else 150)


def check_request_replays(curator: Curator, replays: int) -> None:
    alice = curator.analyst("alice")
    first = alice.sql(COUNT, epsilon=PRICE, request="r1")
    for _ in range(replays):
        assert shown(alice.sql(COUNT, epsilon=PRICE, request="r1")) == shown(first), "a retry gives the same bytes"
    assert spent(curator) == PRICE, "one charge"


def test_request_replays(clinic: Curator) -> None:
    check_request_replays(clinic, 10_000 if population.LONG else 100)


@pytest.mark.parametrize("forgotten", ["find", "request"])
def test_planted_fresh_noise_on_replay(clinic: Curator, monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    monkeypatch.setattr(Ledger, "paid", lambda *_: None)
    if forgotten == "find":
        with pytest.raises(AssertionError, match=r"same answer|one charge"):
            check_replays(clinic, 8)
    else:
        reserve = Ledger.reserve
        monkeypatch.setattr(Ledger, "reserve", lambda *given, **named: reserve(*given, **named | {"request": None}))
        with pytest.raises(AssertionError, match=r"same bytes|one charge"):
            check_request_replays(clinic, 8)


# Threats 23 and 52: data versions


def check_refresh(curator: Curator, source: Any) -> list[Any]:
    """Ask, refresh, ask again: a new charge. What an analyst can see of it is returned."""
    alice = curator.analyst("alice")
    seen: list[Any] = []
    for _ in range(3):
        before = spent(curator)
        alice.sql(COUNT, epsilon=PRICE)
        assert spent(curator) == before + PRICE, "a refresh is a new snapshot"
        seen.append((spent(curator), [vars(table) for table in alice.tables()], str(alice.explain(COUNT, epsilon=1))))
        curator.refresh("visits", source)
    return seen


def check_refreshes_look_alike(folder: Path, kind: type[Curator] = Curator) -> None:
    """Threat 52: data that change and data that do not, D and D', are refreshed with the same observables."""
    sources = [patients(), patients(older=9), patients(39)]
    seen = []
    for number, source in enumerate(sources):
        with open_clinic(folder / str(number), kind=kind) as curator:
            seen.append(check_refresh(curator, source))
    assert seen[0] == seen[1] == seen[2], "what a refresh shows must not depend on data"


def test_refreshes(tmp_path: Path) -> None:
    check_refreshes_look_alike(tmp_path)


def test_planted_cache_across_snapshots(clinic: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PricedQuestion, "snapshot", property(lambda self: self.question.tables[0].name))
    with pytest.raises(AssertionError, match="a refresh is a new snapshot"):
        check_refresh(clinic, patients(older=9))


class RefreshesIfChanged(Curator):
    """Planted bug: a refresh that changes nothing keeps its snapshot, so that repeats stay free."""

    def refresh(self, name: str, source: Any, **named: Any) -> Any:
        if source.equals(patients()):
            return None
        return super().refresh(name, source, **named)


class NamesByContent(Curator):
    """Planted bug: the number of a snapshot follows from its content."""

    def refresh(self, name: str, source: Any, **named: Any) -> Any:
        report = super().refresh(name, source, **named)
        policy = self._policy.read()
        table = policy.tables[name]
        fresh = type(table)(**vars(table) | {"snapshot": sum(source["age"].to_pylist()) + table.snapshot})
        old, new = self._engine.home._path(table), self._engine.home._path(fresh)  # type: ignore[attr-defined]
        old.rename(new)
        self._policy.write(policy.with_table(fresh))
        return report


@pytest.mark.parametrize("kind", [RefreshesIfChanged, NamesByContent])
def test_planted_refresh_tells(tmp_path: Path, kind: type[Curator]) -> None:
    with pytest.raises(AssertionError, match=r"a new snapshot|must not depend on data"):
        check_refreshes_look_alike(tmp_path, kind)


# Threat 24: collusion


def check_collusion(ask: Callable[[str], object], analysts: int = 50) -> None:
    granted = Fraction(0)
    for number in range(analysts):
        try:
            ask(f"analyst{number}")
            granted += PRICE
        except BudgetExceeded:
            pass
    assert 0 < granted <= 1, "together they got more than the people's budget"


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, "1e-6", composition="basic")])
def test_collusion(tmp_path: Path, budget: Any) -> None:
    with open_clinic(tmp_path / "clinic", budget=budget, oversubscribe=True) as curator:

        def ask(name: str) -> None:
            curator.analyst(name, budget=type(budget)(*vars_of(budget))).sql(COUNT, epsilon=PRICE)

        check_collusion(ask)
        assert spent(curator) == 1


def vars_of(budget: Any) -> tuple[Any, ...]:
    """An analyst's cap of the same kind, half as large."""
    if isinstance(budget, PureDP):
        return (budget.epsilon / 2,)
    return (budget.epsilon / 2, budget.delta / 2, "basic") if budget.composition == "basic" else (1, "1e-7")


def test_planted_budget_per_analyst_only(tmp_path: Path) -> None:
    def ask(name: str) -> None:
        with open_clinic(tmp_path / name, budget=PureDP("0.5")) as curator:
            curator.analyst(name, budget=PureDP("0.5")).sql(COUNT, epsilon=PRICE)

    with pytest.raises(AssertionError, match="more than the people's budget"):
        check_collusion(ask, analysts=12)


# Threats 25 and 48: the same people, the same analyst


def check_alias(curator: Curator, people: str) -> None:
    add_table(curator, "alias", patients(), people=people)
    curator.sql("SELECT COUNT(*) FROM alias", epsilon=PRICE)
    curator.drop("alias")
    add_table(curator, "alias", patients(), people=people)
    curator.sql("SELECT COUNT(*) FROM alias", epsilon=PRICE)
    curator.sql(COUNT, epsilon=PRICE)
    assert spent(curator) == 3 * PRICE, "an alias spends the same pool"


@pytest.mark.parametrize("spelling", ["patients", "Patients", "PATIENTS"])
def test_aliases_spend_the_same_pool(clinic: Curator, spelling: str) -> None:
    check_alias(clinic, spelling)


def test_planted_alias_with_its_own_pool(clinic: Curator) -> None:
    clinic.people("patients2", budget=PureDP(4))
    with pytest.raises(AssertionError, match="the same pool"):
        check_alias(clinic, "patients2")


def check_spellings(curator: Curator) -> None:
    """Even a curator who lets everyone in that asks for a cap gives one principal one cap."""
    for number, name in enumerate(["Alice", "ALICE", "\uff21lice", "al\u200bice", "\u0430lice"]):
        with suppress(BudgetExceeded, PolicyError):  # the same principal, whose cap is soon spent, or no name at all
            curator.analyst(name, budget=PureDP(1)).sql(f"{COUNT} WHERE age > {number}", epsilon=1)
    assert spent(curator) == 1, "a spelling has no cap of its own"
    assert [entry.kind for entry in curator.analyst("aLice").history()] == ["account", "reserve"]


def test_one_analyst_under_any_spelling(clinic: Curator) -> None:
    check_spellings(clinic)
    with pytest.raises(BudgetExceeded, match="this analyst's own cap"):
        clinic.analyst("ALICE").sql("SELECT SUM(age) FROM visits", epsilon=1)


@pytest.mark.parametrize("careless", [str, str.lower, lambda name: unicodedata.normalize("NFKC", name).lower()])
def test_planted_look_alikes(clinic: Curator, monkeypatch: pytest.MonkeyPatch, careless: Callable[[str], str]) -> None:
    for place in ("checks", "names", "answers"):
        monkeypatch.setattr(f"dither.ledger.{place}.canonical_name", lambda name, role: careless(name))
    with pytest.raises(AssertionError, match="no cap of its own"):
        check_spellings(clinic)


# Threat 53: another analyst's question


def check_strangers(curator: Curator) -> None:
    alice, bob = curator.analyst("alice"), curator.analyst("bob", budget=PureDP(PRICE))
    first = alice.sql(COUNT, epsilon=PRICE)
    others = [bob, *(curator.analyst(f"analyst{number}", budget=PureDP(PRICE)) for number in range(8))]
    repeats = [other.sql(COUNT, epsilon=PRICE) for other in others]
    assert spent(curator) == 10 * PRICE, "another analyst's question costs what a new one costs"
    assert len({answer.value for answer in [first, *repeats]}) > 1, "and is answered with noise of its own"
    assert alice.sql(COUNT, epsilon=PRICE).value == first.value
    assert not any("alice" in str(entry.body) for entry in bob.history())


def test_strangers_pay(clinic: Curator) -> None:
    check_strangers(clinic)


def test_planted_shared_answers(clinic: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    paid = Ledger.paid
    monkeypatch.setattr(Ledger, "paid", lambda self, people, analyst, *rest: paid(self, people, "alice", *rest))
    with pytest.raises(AssertionError, match="costs what a new one costs"):
        check_strangers(clinic)
