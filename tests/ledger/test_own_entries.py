"""An analyst's own entries are found without a walk over those of others, and reservations with what settled them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from dither.errors import LedgerCorrupt
from dither.ledger import Charge, Ledger
from dither.ledger.values import Entry

Ask = Callable[..., Any]


@pytest.fixture
def busy(ledger: Ledger, ask: Ask, reserve: Ask) -> Ledger:
    """Everybody's questions, one after the other; one of alice's fails and one is open."""
    ledger.open_account("patients", "bob", kind="pure", cap=Charge(Fraction(1)), terms={})
    for number in range(4):
        for who in ("alice", "bob", None):
            ask(ledger, who, "1/100", question=f"{number}")
    ledger.fail(reserve(ledger, "alice", "1/100", question="fails").id)
    reserve(ledger, "alice", "1/100", question="open")
    ledger.record("registered", {"table": "visits"})
    return ledger


def by_definition(ledger: Ledger, analyst: str) -> list[tuple[int, Entry]]:
    return [*enumerate((entry for entry in ledger.entries() if entry.body.get("analyst") == analyst), 1)]


def test_they_are_those_that_name_the_analyst(busy: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.history._PAGE_OF_OWN", 3)
    for more in range(3):
        for who in ("alice", "bob", "carol"):
            expected = by_definition(busy, who)
            for after in (*range(len(expected) + 2), -1):
                assert list(busy.own(who, after=after)) == expected[max(after, 0) :]
        ask(busy, "bob", "1/100", question=f"more {more}")


def looked_at(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many entries are looked at one by one when alice's are asked for."""
    seen, real = [], Ledger.entries

    def entries(self: Ledger, *, after: int = 0) -> Iterator[Entry]:
        for entry in real(self, after=after):
            seen.append(entry)
            yield entry

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "entries", entries)
        assert list(ledger.own("alice")) == by_definition(ledger, "alice")
    return len(seen) - len(list(ledger.entries()))  # all of them once by the definition


def test_only_what_came_since_is_looked_at(busy: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at(busy, monkeypatch) == len(list(busy.entries()))
    assert looked_at(busy, monkeypatch) == 0
    ask(busy, "bob", "1/100", question="one more")
    assert looked_at(busy, monkeypatch) == 2


def check_ends(ledger: Ledger) -> None:
    entries = list(ledger.entries())
    ends = {entry.body["reservation"]: entry for entry in entries if entry.kind in ("settle", "fail")}
    numbers = [entry.sequence for entry in entries if entry.kind == "reserve"]
    assert ledger.ends(numbers) == [ends.get(number) for number in numbers]
    assert [end and end.kind for end in ledger.ends(numbers)][-2:] == ["fail", None]


def test_what_settled_a_reservation(busy: Ledger) -> None:
    check_ends(busy)


def test_an_end_that_was_edited_is_noticed(busy: Ledger, edit: Any) -> None:
    *_, open_one = [entry.sequence for entry in busy.entries() if entry.kind == "reserve"]
    edit(busy._folder.path, f"UPDATE reservations SET settled = {open_one + 1} WHERE id = {open_one}")
    with pytest.raises(LedgerCorrupt, match="state of reservation"):
        busy.ends([open_one])
    with pytest.raises(LedgerCorrupt, match="state of reservation"):
        busy.ends([10**6])


def test_the_people_of_an_analyst(busy: Ledger) -> None:
    assert (busy.people_of("alice"), busy.people_of(None), busy.people_of("carol")) == (["patients"], ["patients"], [])
    busy.open_account("staff", None, kind="pure", cap=Charge(Fraction(4)), terms={})
    busy.open_account("staff", "alice", kind="pure", cap=Charge(Fraction(1)), terms={})
    assert (busy.people_of("alice"), busy.people_of(None)) == (["patients", "staff"], ["patients", "staff"])
    assert busy.people_of("bob") == ["patients"]
