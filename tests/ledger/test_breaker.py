"""Incidents are counted for good, freeze people at their limit, and only the curator thaws them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, PeopleFrozen, PolicyError, QueryFailed
from dither.ledger import Charge, Ledger
from dither.ledger.book import Book
from dither.ledger.chain import NO_SEAL, seal
from dither.ledger.kinds import VERSION
from dither.ledger.page import NOTES


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def stop(ledger: Ledger, reserve: Any, most: int = 3, **changes: Any) -> int:
    number = int(reserve(ledger, cost="1/100", **changes).id)
    ledger.breaker.incident(number, "stopped", most=most)
    return number


@pytest.mark.parametrize("reason", ["stopped", "failed"])
def test_a_stopped_question_fails_and_is_one_incident(ledger: Ledger, reserve: Any, reason: str) -> None:
    number = int(reserve(ledger, cost="1/100").id)
    ledger.breaker.incident(number, reason, most=3)
    *_, failed, incident = ledger.entries()
    assert (failed.kind, failed.body) == ("fail", {"reservation": number})
    assert incident.body == {"people": "patients", "reservation": number, "reason": reason}
    assert ledger.balance("patients").spent.cost == Fraction(1, 100), "the charge stands"
    with pytest.raises(QueryFailed):
        ledger.settle(number, b"late")
    before = kinds(ledger)
    ledger.breaker.incident(number, reason, most=3)
    assert kinds(ledger) == before, "one question is one incident"
    assert ledger.breaker.incidents() == {"patients": 1}
    assert ledger.verify() == len(before)


def test_the_third_freezes_until_the_thaw(ledger: Ledger, folder: Path, reserve: Any, ask: Any) -> None:
    paid = ask(ledger, question="paid", request="r1")
    left_open = reserve(ledger, question="open", request="r2")
    for _ in range(3):
        assert ledger.breaker.frozen() == frozenset()
        stop(ledger, reserve)
    assert kinds(ledger)[-2:] == ["incident", "freeze"]
    assert ledger.breaker.frozen() == {"patients"}
    before = kinds(ledger)
    for refused in ({}, {"analyst": None}, {"question": "open", "request": "r2"}):
        with pytest.raises(PeopleFrozen, match=r"'patients' are frozen.*Nothing was charged"):
            reserve(ledger, **refused)
    assert kinds(ledger) == before
    assert ask(ledger, question="paid", request="r1") == paid, "what was paid for can be read again"
    assert ledger.find("patients", "alice", "paid", "1", Charge(Fraction(1, 4))) == paid
    ledger.verify()
    with Ledger.open(folder) as again:
        assert again.breaker.frozen() == {"patients"}
        assert again.breaker.incidents() == {"patients": 3}
        again.breaker.thaw("Patients")
        assert again.breaker.incidents() == {}
        again.verify()
    assert ledger.breaker.frozen() == frozenset(), "another process has thawed them"
    assert reserve(ledger, question="open", request="r2").id == left_open.id
    stop(ledger, reserve)
    assert ledger.breaker.frozen() == frozenset(), "counted from none"
    ledger.verify()


def test_frozen_by_hand(ledger: Ledger, reserve: Any) -> None:
    ledger.open_account("staff", None, kind="pure", cap=Charge(Fraction(1)), terms={})
    ledger.breaker.freeze("patients")
    before = kinds(ledger)
    ledger.breaker.freeze("patients")
    ledger.breaker.thaw("staff")
    assert kinds(ledger) == before, "nothing changed, so nothing is recorded"
    with pytest.raises(PeopleFrozen):
        reserve(ledger)
    assert reserve(ledger, None, people="staff").state == "reserved", "others go on"
    for act in (ledger.breaker.freeze, ledger.breaker.thaw):
        with pytest.raises(PolicyError, match="no budget for people 'nobody'"):
            act("nobody")


def test_late_is_an_incident_of_a_question_that_is_answered(ledger: Ledger, reserve: Any) -> None:
    number = reserve(ledger).id
    ledger.breaker.incident(number, "late", most=1)
    assert ledger.settle(number, b"answer") == b"answer"
    assert ledger.breaker.frozen() == {"patients"}
    ledger.verify()
    with pytest.raises(PolicyError, match="one of: stopped, failed, late"):
        ledger.breaker.incident(number, "bored", most=1)
    with pytest.raises(PolicyError, match="no reservation"):
        ledger.breaker.incident(99, "late", most=1)


@pytest.mark.parametrize(
    "edit_text", ["DELETE FROM entries WHERE sequence = 7", "UPDATE entries SET kind = 'event' WHERE sequence = 7"]
)
def test_a_freeze_cannot_be_edited_away(ledger: Ledger, folder: Path, reserve: Any, edit: Any, edit_text: str) -> None:
    stop(ledger, reserve, most=1)
    assert kinds(ledger)[6] == "freeze"
    ledger.record("note", {})  # something stands after it
    ledger.close()
    edit(folder, edit_text)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(folder)


def link(number: int, kind: str, /, **body: Any) -> Any:
    return seal(bytes(32), NO_SEAL, number, kind, json.dumps(body), bytes(32))


def test_the_book_refuses_what_this_code_would_not_write() -> None:
    book = Book()
    book.apply(link(3, "account", people="p", analyst=None, kind="pure", cost="1", delta="0", terms={}))
    book.apply(link(4, "reserve", people="p", analyst=None, cost="1/1000000000000000", delta="0", units=[[3, 1, 0]]))
    for reason in ("stopped", "failed"):
        with pytest.raises(LedgerCorrupt, match="incident that cannot be"):
            book.apply(link(5, "incident", people="p", reservation=4, reason=reason))
    book.apply(link(5, "fail", reservation=4))
    book.apply(link(6, "incident", people="p", reservation=4, reason="stopped"))
    with pytest.raises(LedgerCorrupt, match="incident that cannot be"):
        book.apply(link(7, "incident", people="p", reservation=4, reason="late"))
    with pytest.raises(LedgerCorrupt, match="without a cause"):
        book.apply(link(7, "freeze", people="p", incidents=2))
    book.apply(link(7, "freeze", people="p", incidents=1))
    with pytest.raises(LedgerCorrupt, match="without a cause"):
        book.apply(link(8, "freeze", people="p", incidents=1))
    with pytest.raises(LedgerCorrupt, match="charges people who are frozen"):
        book.apply(
            link(8, "reserve", people="p", analyst=None, cost="1/1000000000000000", delta="0", units=[[3, 1, 0]])
        )
    copied = book.copy()
    book.apply(link(8, "thaw", people="p"))
    assert (copied.frozen, book.frozen, book.incidents) == ({"p"}, frozenset(), {})
    assert copied.commitment(bytes(32), VERSION) != book.commitment(bytes(32), VERSION)


def test_an_incident_of_nobodys_question_is_noticed(ledger: Ledger, reserve: Any) -> None:
    """Even under a valid seal."""
    ledger.open_account("staff", None, kind="pure", cap=Charge(Fraction(1)), terms={})
    number = reserve(ledger).id
    with ledger._journal.writing() as page:
        page.append("incident", {"people": "staff", "reservation": number, "reason": "late"})
    with pytest.raises(LedgerCorrupt, match="nobody's question"):
        ledger.verify()


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_ledger_of_the_first_layout_is_brought_to_this_one(
    ledger: Ledger, folder: Path, ask: Any, first_layout: Any
) -> None:
    paid = ask(ledger)
    ledger.close()
    first_layout(folder)
    with Ledger.open(folder) as again:
        assert ask(again) != paid  # at the same price, under no request id
        assert again.find("patients", "alice", "q", "1", Charge(Fraction(1, 4))) == paid
        again.breaker.freeze("patients")
        again.verify()
    with Ledger.open(folder) as again:
        assert again.breaker.frozen() == {"patients"}


@pytest.mark.parametrize("store", ["sqlite"])
def test_opening_does_not_look_at_every_entry_for_incidents(ledger: Ledger) -> None:
    with ledger._journal.reading() as page:
        (plan,) = page.connection.execute(f"EXPLAIN QUERY PLAN {NOTES}").fetchall()
    assert "entries_of_the_book" in plan[-1]


def check_freeze(ledger: Ledger, reserve: Any) -> None:
    for _ in range(3):
        stop(ledger, reserve)
    with pytest.raises(PeopleFrozen):
        reserve(ledger)


def test_planted_freeze_ignored(ledger: Ledger, reserve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.breaker._freeze", lambda page, people: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_freeze(ledger, reserve)
