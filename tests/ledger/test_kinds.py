"""Entries have the form of their kind and version, those included that nothing writes yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError, PolicyError
from dither.ledger import Ledger, kinds
from dither.ledger.book import Book
from dither.ledger.chain import canonical_json, seal
from dither.ledger.kinds import VERSION

FIXTURES = Path(__file__).with_name("fixtures")
MINIMAL = {
    "grant": {"people": "patients", "analyst": "alice", "cost": "1", "delta": "0"},
    "close": {"people": "patients", "analyst": "alice"},
    "token": {"principal": "alice", "sha256": "00"},
    "principal": {"principal": "alice"},
}


def write(ledger: Ledger, folder: Path, kind: str, body: object, version: int = VERSION) -> None:
    """Somebody who holds the key, and another dither, adds an entry after the two accounts."""
    key = (folder / "ledger.key").read_bytes()
    with ledger._journal.reading() as page:
        book, head = page.book.copy(), page.head
    link = seal(key, head.mac, head.sequence + 1, kind, canonical_json(body), bytes(32), version)
    try:
        book.apply(link)
    except (AttributeError, KeyError, LedgerCorrupt, TypeError):
        state = head.state
    else:
        state = book.commitment(key, version)
    link = seal(key, head.mac, head.sequence + 1, kind, canonical_json(body), state, version)
    with ledger._journal._store.transaction(write=True) as connection:
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", link.row)


@pytest.mark.parametrize("kind", MINIMAL)
def test_what_has_no_meaning_yet_is_read_and_proven_and_nothing_is_added(
    ledger: Ledger, folder: Path, reserve: Any, kind: str
) -> None:
    """Going on would charge an account that a newer dither closed."""
    write(ledger, folder, kind, MINIMAL[kind], version=4)
    for again in (ledger, Ledger.open(folder)):
        assert [entry.kind for entry in again.entries()][-1] == kind
        assert again.verify() == 4
        with pytest.raises(LedgerError, match="entry 4 of the ledger means something that this dither does not know"):
            reserve(again)
        assert not again.balance("patients").spent.cost
        again.close()


def test_planted_bug_going_on_regardless(
    ledger: Ledger, folder: Path, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the book forgets such entries."""
    note = Book.note
    monkeypatch.setattr(Book, "note", lambda book, link: link.kind in MINIMAL or note(book, link))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_what_has_no_meaning_yet_is_read_and_proven_and_nothing_is_added(ledger, folder, reserve, "close")


def test_taking_out_what_has_no_meaning_yet_is_noticed(ledger: Ledger, folder: Path, edit: Any) -> None:
    write(ledger, folder, "close", MINIMAL["close"], version=4)
    write(ledger, folder, "event", {"event": "x", "body": {}})
    ledger.close()
    edit(folder, "DELETE FROM entries WHERE sequence = 4")
    with pytest.raises(LedgerCorrupt):
        Ledger.open(folder)


BODIES = {
    "event": {"event": "x", "body": {}},
    "thaw": {"people": "patients"},
    "token": MINIMAL["token"],
    "principal": MINIMAL["principal"],
    "officer": {"key": "00" * 32, "reason": "x", "number": 0},
    "lower": {**MINIMAL["grant"], "terms": {}, "reason": "x"},
    "grant": {**MINIMAL["grant"], "terms": {}, "reason": "x", "number": 0, "signature": "00"},
    "close": {**MINIMAL["close"], "reason": "x"},
}


def check_forms(ledger: Ledger, folder: Path, kind: str, change: Callable[[dict[str, Any]], object]) -> None:
    body: dict[str, Any] = dict(BODIES[kind])
    changed = change(body)
    write(ledger, folder, kind, body if changed is None else changed)
    with pytest.raises(LedgerCorrupt, match=f"has not the fields of its kind, '{kind}'"):
        ledger.balance("patients")
    with pytest.raises(LedgerCorrupt, match=f"has not the fields of its kind, '{kind}'"):
        Ledger.open(folder)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "one field more": lambda body: body.update(other=1),
    "one field less": lambda body: body.popitem() and None,
    "a list": lambda _: [],
    "a text": lambda _: "x",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", BODIES)
def test_other_fields_are_damage(ledger: Ledger, folder: Path, kind: str, change: str) -> None:
    check_forms(ledger, folder, kind, CHANGES[change])


def test_planted_bug_any_field_passes(ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.chain.check_body", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_forms(ledger, folder, "event", CHANGES["one field more"])


def test_the_fields_of_a_later_version_are_damage_in_an_earlier_one(ledger: Ledger, folder: Path, reserve: Any) -> None:
    reserve(ledger, sql="SELECT 1")
    *_, entry = ledger.entries()
    write(ledger, folder, "reserve", dict(entry.body), version=2)
    with pytest.raises(LedgerCorrupt, match="has not the fields of its kind, 'reserve'"):
        ledger.balance("patients")


@pytest.mark.parametrize("version", [1, 2])
def test_the_forms_of_older_versions_are_those_that_they_wrote(version: int) -> None:
    """From the fixtures, which no later change of this table may put into the wrong."""
    rows = json.loads((FIXTURES / f"version{version}.json").read_text(encoding="utf-8"))["rows"]["entries"]
    for sequence, of, kind, body, *_ in rows:
        assert of == version
        kinds.check_kind(sequence, of, kind)
        kinds.check_body(sequence, of, kind, json.loads(body))
    assert {row[2] for row in rows} >= kinds.KINDS[version].keys() - {"fail"}


def test_nothing_is_written_that_could_not_be_read(ledger: Ledger) -> None:
    with ledger._journal.writing() as page, pytest.raises(LedgerCorrupt, match="has not the fields"):
        page.append("thaw", {"people": "patients", "why": "x"})


GIVEN = {"principal": "bob@example.org", "time": 1_700_000_000, "sql": "SELECT COUNT(*) FROM visits", "alias": "visits"}


def test_who_asked_when_and_what(ledger: Ledger, folder: Path, reserve: Any) -> None:
    """Recorded beside the charge, and given back; what is not given is not in the entry."""
    first, second = reserve(ledger, question="a", request="r", **GIVEN), reserve(ledger, question="b")
    assert {name: getattr(first, name) for name in GIVEN} == GIVEN
    assert {getattr(second, name) for name in GIVEN} == {None}
    ledger.close()
    with Ledger.open(folder) as again:
        *_, asked, bare = again.entries()
        assert {name: asked.body[name] for name in GIVEN} == GIVEN
        assert not GIVEN.keys() & bare.body.keys()
        assert again.requested("patients", "alice", "r") == first
        # A retry in other words is the same reservation, and the first words stay.
        assert reserve(again, question="a", request="r", sql="select count(*) from visits") == first
        again.verify()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"principal": 1}, "must be text"),
        ({"sql": b"SELECT"}, "must be text"),
        ({"alias": "x" * 201}, "at most 200 characters"),
        ({"sql": "x" * (2**20 + 1)}, "at most 1,048,576 characters"),
        ({"time": 1.5}, "whole seconds"),
        ({"time": True}, "whole seconds"),
        ({"time": -1}, "whole seconds"),
        ({"time": "2026-01-01"}, "whole seconds"),
    ],
)
def test_other_forms_are_refused_and_nothing_is_charged(
    ledger: Ledger, reserve: Any, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(PolicyError, match=words):
        reserve(ledger, **given)
    assert not ledger.balance("patients").spent.cost
