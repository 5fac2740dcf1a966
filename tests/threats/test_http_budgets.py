"""Threats to budgets through HTTP: what was spent stays spent, whoever asks and however often."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import threats_budget_games as games
import threats_clinic as clinic
import threats_clock as clock
import threats_served as http

from dither.accounting import PureDP
from dither.curator.accounts import Accounts
from dither.curator.service import Service
from dither.curator.time_grid import Clock
from dither.curator.walk import Walk
from dither.errors import QueryFailed
from dither.ledger import Ledger
from dither.policy.limits import Limits
from dither.server.store import Store
from dither.sql.pricing.price import PricedQuestion

COUNT = clinic.COUNT
TENTH = Fraction(1, 10)
Patch = pytest.MonkeyPatch


class Engine:
    """The engine, with another statement in place of the one asked for, or something done before each."""

    def __init__(self, engine: Any, sql: str | None = None, before: Callable[[str | None], None] = len) -> None:  # type: ignore[assignment]
        self._engine, self._sql, self._before, self._own = engine, sql, before, threading.local()

    def slot(self, analyst: str | None, *given: Any) -> Any:
        self._own.analyst = analyst
        return self._engine.slot(analyst, *given)

    def run(self, statement: Any) -> Any:
        if self._before is not len:
            self._before(self._own.analyst)
        return self._engine.run(statement if self._sql is None else replace(statement, sql=self._sql))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def replays(served: http.Served) -> None:
    games.check_replays(served, 6)
    spent = clinic.spent(served)
    first = served.query("alice", f"{COUNT} WHERE age > 1", request="mine")
    assert [served.query("alice", f"{COUNT} WHERE age > 1", request="mine") for _ in range(3)] == [first] * 3
    assert clinic.spent(served) == spent + TENTH, "one charge"


def refreshes(served: http.Served) -> None:
    games.check_refresh(served, clinic.patients(older=9))


def collusion(served: http.Served) -> None:
    def ask(name: str) -> None:
        served.analyst(name, budget=PureDP("0.5"), people="patients").sql(COUNT, epsilon="0.1")

    games.check_collusion(ask, 13)


def aliases(served: http.Served) -> None:
    games.check_alias(served, ALIAS["people"])


ALIAS = {"people": "Patients"}


def clocks(served: http.Served) -> None:
    assert served.query("curator", COUNT, epsilon=2)[0] == 200
    with pytest.MonkeyPatch.context() as patch:
        clock.set_clocks(patch, clock.BEGAN + clock.TEN_YEARS)
        served.tokens.clear()
        status, _ = served.query("curator", f"{COUNT} WHERE age > 1", epsilon=2)
    assert status == 402, "a budget that was spent stays spent"


def failures(served: http.Served) -> None:
    served.curator._engine = Engine(served.curator._engine, "SELECT nonsense")
    for number, expected in ((1, TENTH), (1, TENTH), (2, 2 * TENTH)):
        status, said = served.query("alice", f"{COUNT} WHERE age > {number}", request=f"r{number}")
        assert clinic.spent(served) == expected, "a failure stays charged, once"
        assert (status, json.loads(said)["error"]["code"]) == (500, "query_failed")


class Refunds(Walk):
    """Planted bug: what could not be run is not charged."""

    def _stored(self, *given: Any) -> Any:
        raise QueryFailed


def breaker(served: http.Served) -> None:
    served.curator._engine = Engine(served.curator._engine, "SELECT nonsense")
    seen = [served.query("alice", f"{COUNT} WHERE age > {number}")[0] for number in range(4)]
    assert seen == [500, 500, 500, 423], "the third incident freezes"


class Forgets(Walk):
    """Planted bug: an incident is a failure like any other."""

    def _incident(self, reservation: Any, reason: str) -> None:
        self._ledger.fail(reservation.id)


def spellings(served: http.Served) -> None:
    """An administrator who lets everyone in that asks for a cap gives one principal one cap."""
    for number, name in enumerate(["Alice", "ALICE", "\uff21lice", "al\u200bice", "\u0430lice"]):
        served.call("administrator", "POST", "/v1/analysts", {"name": name, "epsilon": 1, "people": "patients"})
        made = served.call("administrator", "POST", "/v1/tokens", {"role": "analyst", "name": name})
        if made[0] == 200:
            served.tokens[name] = json.loads(made[1])["token"]
            served.query(name, f"{COUNT} WHERE age > {number}", epsilon=1)
    assert clinic.spent(served) == 1, "a spelling has no cap of its own"


def _careless(patch: Patch) -> None:
    for place in ("checks", "names", "answers"):
        patch.setattr(f"dither.ledger.{place}.canonical_name", lambda name, role: name)


def shares(served: http.Served) -> None:
    served.curator.limits(Limits(workers=2, wait_seconds=1))
    go, begun = threading.Event(), threading.Semaphore(0)

    def block(analyst: str | None) -> None:
        if analyst == "alice":
            begun.release()
            go.wait()

    served.curator._engine = Engine(served.curator._engine, before=block)
    asking = [
        threading.Thread(target=served.query, args=("alice", f"{COUNT} WHERE age > {number}")) for number in range(3)
    ]
    slots = served.curator._engine.home._workers._slots
    served.token("alice"), served.token("bob")
    try:
        for thread in asking:
            thread.start()
        begun.acquire()
        while sum(thread.is_alive() for thread in asking) > slots.taken + len(slots._waiting):
            time.sleep(0.01)
        found: list[int] = []
        bob = threading.Thread(target=lambda: found.append(served.query("bob", COUNT)[0]))
        asking.append(bob)
        bob.start()

        def stuck() -> bool:
            """Whether bob waits, and it is nobody's turn as long as alice has what she has."""
            with slots._changed:
                return any(one.analyst == "bob" for one in slots._waiting) and slots._next() is None

        while bob.is_alive() and not stuck():
            time.sleep(0.01)
        assert found == [200], "others are answered"
    finally:
        go.set()
        for thread in asking:
            thread.join()


def others(served: http.Served) -> None:
    def looks() -> list[Any]:
        refused = served.query("alice", COUNT, epsilon="3")
        explained = served.call("alice", "POST", "/v1/explain", {"sql": COUNT, "epsilon": "1.5"})
        return [refused, explained, *(served.call("alice", "GET", f"/v1/{what}") for what in ("budget", "history"))]

    before = looks()
    for number in range(3):
        assert served.query("bob", f"{COUNT} WHERE age > {number}", epsilon="0.3")[0] == 200
    assert served.query("curator", COUNT, epsilon="1.9")[0] == 200
    assert looks() == before, "what others spent shows"


def grid(served: http.Served) -> None:
    """Slow or fast, an answer comes at the same time: no clock of the machine is looked at."""
    now, taken = [1000.0], []

    def pass_(seconds: float) -> None:
        now[0] += seconds

    served.curator.limits(Limits(answer_on_grid="0.25", statement_seconds=3))
    served.curator._walk._clock = Clock(lambda: now[0], pass_)
    engine = served.curator._engine
    for seconds in (0.01, 1.7):
        served.curator._engine = Engine(engine, before=lambda _, seconds=seconds: pass_(seconds))  # type: ignore[misc]
        started = now[0]
        assert served.query("alice", f"{COUNT} WHERE age > {seconds}")[0] == 200
        taken.append(now[0] - started)
    assert taken[0] == taken[1], "when an answer comes does not follow from how long it took"


def bindings(served: http.Served) -> None:
    """An id stands for what was asked under it first, after a refresh too."""
    first = served.query("alice", COUNT, request="mine")
    assert served.query("alice", f"{COUNT} WHERE age > 1", request="mine")[0] == 409, "an id stands for one thing"
    free = served.query("alice", COUNT, request="a free repeat")
    served.curator.refresh("visits", clinic.patients(older=3))
    assert served.query("alice", COUNT, request="mine") == first, "a retry gets the same bytes"
    assert served.query("alice", COUNT, request="a free repeat") == free, "a retry gets the same bytes"
    assert clinic.spent(served) == TENTH


VIEW, RESERVE = Accounts.view, Ledger.reserve


def _pools(name: Callable[[str | None], object]) -> Callable[..., Any]:
    """Planted bug: there is a pool for each of something."""

    def reserve(self: Ledger, people: str, analyst: str | None, charge: Any, **named: Any) -> Any:
        own = f"{people}-{name(analyst)}"
        self.open_account(own, None, kind="pure", cap=self.balance(people).cap, terms=self.terms(people))
        return RESERVE(self, own, None, charge, **named)

    return reserve


def _year(_: str | None) -> int:
    return datetime.datetime.now(datetime.UTC).year


Planted = dict[str, Callable[[Patch], None]]
THREATS: dict[str, tuple[Callable[[http.Served], None], str, Planted]] = {
    "22": (replays, "same answer|one charge", {"forgets": lambda p: p.setattr(Ledger, "paid", lambda *_: None)}),
    "23": (
        refreshes,
        "a refresh is a new snapshot",
        {
            "answers across snapshots": lambda patch: patch.setattr(
                PricedQuestion, "snapshot", property(lambda self: self.question.tables[0].name)
            )
        },
    ),
    "24": (
        collusion,
        "more than the people's budget",
        {"a pool for each analyst": lambda patch: patch.setattr(Ledger, "reserve", _pools(str))},
    ),
    "25": (aliases, "the same pool", {"a pool of its own": lambda patch: patch.setitem(ALIAS, "people", "staff")}),
    "30": (
        grid,
        "does not follow",
        {"no grid": lambda patch: patch.setattr("dither.curator.walk.release_of", lambda *_: None)},
    ),
    "45": (clocks, "stays spent", {"a year": lambda patch: patch.setattr(Ledger, "reserve", _pools(_year))}),
    "46": (failures, "stays charged", {"refunds": lambda patch: patch.setattr(Walk, "_stored", Refunds._stored)}),
    "48": (spellings, "no cap of its own", {"names as they are written": _careless}),
    "58": (breaker, "freezes", {"no incidents": lambda patch: patch.setattr(Walk, "_incident", Forgets._incident)}),
    "59": (
        shares,
        "others are answered",
        {"no share": lambda patch: patch.setattr("dither.engines.duckdb.slots.share", lambda most: most)},
    ),
    "60": (
        others,
        "what others spent shows",
        {
            "the people's budget": lambda patch: patch.setattr(
                Accounts, "view", lambda self, people, analyst=None: VIEW(self, people)
            ),
            "all of history": lambda patch: patch.setattr(
                Service, "history", lambda self, _, after=0: self._ledger.entries(after=after)
            ),
        },
    ),
    "67": (
        bindings,
        "an id stands for",
        {"unbound": lambda p: p.setattr(Store, "bind", lambda self, *given: given[2])},
    ),
}


def check(base: Path, folder: Path, row: str) -> None:
    with http.served(base, folder, oversubscribed=row == "24") as served:
        THREATS[row][0](served)
        served.curator.verify()


@pytest.mark.parametrize("row", THREATS)
def test_through_http(http_base: Path, tmp_path: Path, row: str) -> None:
    check(http_base, tmp_path, row)


@pytest.mark.parametrize(("row", "bug"), [(row, bug) for row in THREATS for bug in THREATS[row][2]])
def test_planted_bugs_through_http(
    http_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, bug: str
) -> None:
    THREATS[row][2][bug](monkeypatch)
    with pytest.raises(AssertionError, match=THREATS[row][1]):
        check(http_base, tmp_path, row)
