"""Threat 5: however many processes ask at once, what is granted is exactly the cap."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.storage import schema
from dither.ledger.units import Units

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Ask = Callable[..., bytes]
Release = Callable[[bytes], object]


def patient(attempt: Callable[[], Any], turned_away: Path) -> Any:
    """What the attempt gives, made again whenever the ledger was in use for longer than it lets anyone wait.

    Locks are not given in turn: of some hundred processes that never pause, one may be passed over for a minute.
    """
    for _ in range(60):  # each of which waits for a minute
        try:
            return attempt()
        except LedgerError as error:
            if "in use by" not in str(error):
                raise
            with open(turned_away, "ab", buffering=0) as file:
                file.write(b".")
    raise AssertionError("the ledger stays in use")


def check_grants(folder: Path, in_child: Any, ask: Ask, *, kind: type[Ledger], clients: int, requests: int) -> int:
    """All clients together ask for twice the cap, half of it over; the cap is granted, to the unit.

    Returns how often a client was turned away because the ledger was in use, and asked again under its request id.
    """
    fits = clients * requests // 2
    price = Fraction(1, fits)
    turned_away = folder.with_name("turned away")
    turned_away.touch()
    with kind.open(folder, create=True) as ledger:
        cap = Charge(fits * Fraction(-(-(10**15) // fits), 10**15))
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=cap, terms={})

        def work(release: Release) -> None:
            # Half of the clients take over the parent's ledger, half open it for themselves.
            mine = ledger if os.getpid() % 2 else patient(lambda: kind.open(folder), turned_away)
            for number in range(requests):
                request = f"{os.getpid()} {number}"
                try:
                    release(patient(lambda request=request: ask(mine, request, price=price), turned_away))
                except BudgetExceeded:
                    continue

        children = [in_child(work) for _ in range(clients)]
        ended = [child.ended() for child in children]
        granted = sum(len(released) for released, _ in ended) // 16
        assert granted == fits, "grants are exactly what the cap allows"
        assert {status for _, status in ended} == {0}
        assert ledger.balance("patients").left == Charge(Fraction(0))
        assert ledger.verify() == 3 + 2 * granted
    with kind.open(folder) as again:
        assert again.verify() == 3 + 2 * granted
    return turned_away.stat().st_size


def test_grants_equal_the_cap(tmp_path: Path, in_child: Any, ask: Ask, tally: Any, campaign: bool) -> None:
    clients, requests = (200, 500) if campaign else (16, 100)
    again = check_grants(tmp_path / "clinic", in_child, ask, kind=Ledger, clients=clients, requests=requests)
    tally(clients=clients, requests=clients * requests, requests_asked_again=again)


def check_swarm(
    kind: type[Ledger], folder: Path, in_child: Any, ask: Ask, *, clients: int, requests: int, kills: int
) -> None:
    """Many processes ask the same requests, which do not all fit, again and again; they are killed as they go.

    Only a ledger that answers nothing any more lets one of them end by itself.
    """
    fits = requests * 3 // 4
    with kind.open(folder, create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(fits)), terms={})

    def work(release: Release) -> None:
        mine, answered = kind.open(folder), 1
        while answered:
            answered = 0
            for number in random.Random(os.getpid()).sample(range(requests), requests):
                with suppress(BudgetExceeded):
                    release(bytes([number]) + ask(mine, f"r{number}", price=Fraction(1)))
                    answered += 1

    children = [in_child(work) for _ in range(clients)]
    answers: dict[int, set[bytes]] = {number: set() for number in range(requests)}
    for round_ in range(kills + clients):
        child = children.pop(random.randrange(len(children)))
        seen = child.released(17 * random.randint(0, 3) if round_ < kills else 0)
        child.kill()
        rest, status = child.ended()
        assert status == -signal.SIGKILL or kind is not Ledger
        released = seen + rest
        for place in range(0, len(released), 17):
            answers[released[place]].add(released[place + 1 : place + 17])
        if round_ < kills:
            children.append(in_child(work))
    with kind.open(folder) as ledger:
        ledger.verify()
        charged = [entry.body["request"] for entry in ledger.entries() if entry.kind == "reserve"]
        assert len(charged) == len({*charged}), "one charge a request"
        assert ledger.balance("patients").spent.cost == len(charged) <= fits, "spent is the sum of charges, in the cap"
        assert {f"r{number}" for number, found in answers.items() if found} <= {*charged}, "released implies charged"
        for number, found in answers.items():
            if f"r{number}" in charged:
                assert found <= {ask(ledger, f"r{number}", price=Fraction(1))}, "one charge, one draw of noise"
        assert ledger.balance("patients").spent.cost == len(charged), "a retry is not charged"
        assert ledger.pending() == []
        ledger.verify()


def test_many_processes_killed_as_they_ask(tmp_path: Path, in_child: Any, ask: Ask, tally: Any, campaign: bool) -> None:
    for number in range(6 if campaign else 1):
        kills = 100 if campaign else 24
        check_swarm(Ledger, tmp_path / f"{number}", in_child, ask, clients=8, requests=100, kills=kills)
        tally(kills=kills + 8)


class ForgetsRequests(Ledger):
    """Planted bug: a request that another process is answering is charged again."""

    def reserve(self, *given: Any, **named: Any) -> Any:
        known = self.requested("patients", "alice", named["request"])
        if known is None or known.answer is None:
            return super().reserve(*given, **named | {"request": None})
        return super().reserve(*given, **named)


def test_forgotten_requests_are_caught(tmp_path: Path, in_child: Any, ask: Ask) -> None:
    with pytest.raises(AssertionError, match=r"one charge|released implies charged"):
        check_swarm(ForgetsRequests, tmp_path / "clinic", in_child, ask, clients=4, requests=10, kills=4)


class ChecksThenUpdates(Ledger):
    """Planted bug: what is left is read first, and charged later without a condition."""

    checked: Path  # has a mark of everybody who looked
    clients = 8

    def reserve(self, people: str, analyst: str | None, charge: Charge, **named: Any) -> Any:
        if charge.cost > self.balance(people).left.cost:
            raise BudgetExceeded("does not fit")
        with open(self.checked, "ab", buffering=0) as file:
            file.write(b".")
        deadline = time.monotonic() + 60
        while self.checked.stat().st_size < self.clients:  # until all others have looked too
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return super().reserve(people, analyst, charge, **named)

    def _charge(self, page: Any, account: Any, price: Units, charge: Charge) -> None:
        page.connection.execute("UPDATE accounts SET spent = spent + ? WHERE opened = ?", (price.cost, account.opened))


def test_check_then_update_is_caught(tmp_path: Path, in_child: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked = tuple(text.replace("CHECK (spent BETWEEN 0 AND cap)", "") for text in schema.STATEMENTS)
    assert unchecked != schema.STATEMENTS
    monkeypatch.setattr(schema, "STATEMENTS", unchecked)
    monkeypatch.setattr(Units, "fits", lambda *_: True)
    monkeypatch.setattr(ChecksThenUpdates, "checked", tmp_path / "checked", raising=False)
    with pytest.raises(AssertionError, match="grants are exactly"):
        check_grants(
            tmp_path / "clinic", in_child, ask, kind=ChecksThenUpdates, clients=ChecksThenUpdates.clients, requests=1
        )


def test_the_table_itself_refuses_to_pass_the_cap(clinic: Path) -> None:
    """Defence in depth: constraint and triggers hold even against a statement without a condition."""
    connection = sqlite3.connect(clinic / "ledger.sqlite", isolation_level=None)
    for statement in (
        "UPDATE accounts SET spent = cap + 1",
        "UPDATE accounts SET spent = 1; UPDATE accounts SET spent = 0",
        "UPDATE accounts SET cap = cap + 1",
        "DELETE FROM accounts",
        "DELETE FROM entries",
        "UPDATE entries SET body = '{}'",
        "INSERT INTO accounts VALUES (1, 10, 0, 11, 0)",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.executescript(statement)
    connection.close()


def check_settled_once(kind: type[Ledger], clinic: Path, in_child: Any) -> None:
    """Several processes answer the same reservation with noise of their own: all return the first's."""
    for _ in range(5):
        with kind.open(clinic) as ledger:
            charge = Charge(Fraction(1, 100))
            number = ledger.reserve("patients", "alice", charge, question="q", snapshot="1", plan="{}").id

        def work(release: Release, number: int = number) -> None:
            release(kind.open(clinic).settle(number, os.urandom(16)))

        answers = {child.ended() for child in [in_child(work) for _ in range(6)]}
        assert len(answers) == 1, "one charge, one draw of noise"


def test_the_first_of_several_processes_settles(clinic: Path, in_child: Any) -> None:
    check_settled_once(Ledger, clinic, in_child)


class ReturnsItsOwnNoise(Ledger):
    """Planted bug: the caller's bytes are returned instead of the stored ones."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        super().settle(reservation_id, answer)
        return answer


def test_returning_ones_own_noise_is_caught(clinic: Path, in_child: Any) -> None:
    with pytest.raises(AssertionError, match="one charge, one draw of noise"):
        check_settled_once(ReturnsItsOwnNoise, clinic, in_child)


def test_the_same_request_from_several_processes_is_charged_once(clinic: Path, in_child: Any, ask: Ask) -> None:
    """Threat 22."""
    ledger = Ledger.open(clinic)
    answers = {child.ended() for child in [in_child(lambda r: r(ask(Ledger.open(clinic), "r"))) for _ in range(8)]}
    assert len(answers) == 1
    assert ledger.balance("patients").spent.cost == Fraction(1, 10)
    ledger.close()


def test_several_processes_make_one_ledger(tmp_path: Path, in_child: Any) -> None:
    def work(release: Release) -> None:
        ledger = Ledger.open(tmp_path / "new", create=True)
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(1)), terms={})
        ledger.record("hello", {"from": str(os.getpid())})
        release(b"x")

    assert [child.ended() for child in [in_child(work) for _ in range(8)]] == [(b"x", 0)] * 8
    with Ledger.open(tmp_path / "new") as ledger:
        assert ledger.verify() == 2 + 8


def check_no_refund(kind: type[Ledger], clinic: Path) -> None:
    """Threat 46: a failure, however often repeated, gives nothing back."""
    with kind.open(clinic) as ledger:
        charge = Charge(Fraction(1, 10))
        for number in range(1, 11):
            ledger.fail(ledger.reserve("patients", "alice", charge, question="q", snapshot="1", plan="{}").id)
            assert ledger.balance("patients").spent.cost == number * charge.cost, "a failure stays charged"
        with pytest.raises(BudgetExceeded):
            ledger.reserve("patients", "alice", charge, question="q", snapshot="1", plan="{}")
        ledger.verify()


def test_failures_stay_charged(clinic: Path) -> None:
    check_no_refund(Ledger, clinic)


class Refunds(Ledger):
    """Planted bug: a failure gives the charge back."""

    def fail(self, reservation_id: int) -> None:
        super().fail(reservation_id)
        with self._journal.writing() as page:
            account = page.book.accounts["patients", None]
            page.book.accounts["patients", None] = replace(account, spent=Units(0, 0))
            page.connection.execute("DROP TRIGGER accounts_no_update")
            page.connection.execute("UPDATE accounts SET spent = 0 WHERE opened = ?", (account.opened,))
            page.append("event", {"event": "refund", "body": {}})


def test_refunds_are_caught(clinic: Path) -> None:
    with pytest.raises(AssertionError, match="a failure stays charged"):
        check_no_refund(Refunds, clinic)
