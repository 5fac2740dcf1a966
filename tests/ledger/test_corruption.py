"""Edits that leave a readable database: each is noticed, at the latest by the full walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt
from dither.ledger import Charge, Ledger
from dither.ledger.book import Book
from dither.ledger.chain import NO_SEAL, Link, authentic, canonical_json, seal
from dither.ledger.storage.anchor import Mark
from dither.ledger.verify import verify_page

Edit = Callable[..., None]
KEY = bytes(range(32))


@pytest.fixture
def filled(ledger: Ledger, folder: Path, ask: Any, reserve: Any) -> Path:
    """Entries: 1 create, 2, 3 accounts, 4, 5 an answer, 6, 7 another, 8 an open reservation, 9, 10 a failure."""
    ask(ledger, question="q0", request="r0")
    ask(ledger, question="q1")
    reserve(ledger, question="q2")
    ledger.fail(reserve(ledger, question="q3").id)
    ledger.close()
    return folder


@pytest.mark.parametrize(
    ("edit_text", "words"),
    [
        ("UPDATE accounts SET spent = 0", "accounts or reservations .* were changed"),
        ("UPDATE accounts SET cap = cap * 2 WHERE opened = 2", "cap of an account was changed"),
        ("UPDATE accounts SET opened = 5 WHERE opened = 3", "entry 5 of the ledger opens no account"),
        ("UPDATE accounts SET opened = -5 WHERE opened = 3", "accounts of the ledger are unreadable"),
        ("DELETE FROM accounts WHERE opened = 3", "accounts or reservations .* were changed"),
        ("UPDATE reservations SET settled = NULL WHERE id = 4", "accounts or reservations .* were changed"),
        ("UPDATE reservations SET settled = 9 WHERE id = 8", "accounts or reservations .* were changed"),
        ("DELETE FROM reservations WHERE id = 8", "accounts or reservations .* were changed"),
        ("DELETE FROM reservations WHERE id = 4", "accounts or reservations .* were changed"),
        ("UPDATE reservations SET settled = 9 WHERE id = 4", "accounts or reservations .* were changed"),
        ("UPDATE reservations SET settled = 10 + id WHERE id IN (4, 6)", "accounts or reservations .* were changed"),
        ("UPDATE entries SET body = '{}' WHERE sequence = 10", "entry 10 .* does not bear its seal"),
        ("UPDATE entries SET state = zeroblob(32) WHERE sequence = 10", "does not bear its seal"),
        ("UPDATE entries SET mac = zeroblob(32) WHERE sequence = 10", "does not bear its seal"),
        ("DELETE FROM entries WHERE sequence = 10", "has 9 entries|were changed"),
        ("DELETE FROM entries WHERE sequence = 9", "missing or unreadable"),
        ("DELETE FROM entries WHERE sequence = 1", "missing or unreadable"),
        ("DELETE FROM entries", "has no entries"),
        ("UPDATE entries SET sequence = sequence + 7 WHERE sequence = 10", "missing or unreadable"),
        ("DROP INDEX reservations_open", "tables of the ledger were changed"),
        ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN UPDATE accounts SET spent = 0; END", "tables .* were changed"),
        ("PRAGMA application_id = 7", "tables of the ledger were changed"),
        ("PRAGMA user_version = 0", "tables of the ledger were changed"),
    ],
)
def test_noticed_at_opening(filled: Path, edit: Edit, edit_text: str, words: str) -> None:
    edit(filled, edit_text)
    with pytest.raises(LedgerCorrupt, match=words):
        Ledger.open(filled)


@pytest.mark.parametrize(
    ("edit_text", "words"),
    [
        ("UPDATE entries SET body = '{}' WHERE sequence = 6", "entry 6 .* does not bear its seal"),
        ("DELETE FROM entries WHERE sequence = 6", "does not bear its seal"),
        ("UPDATE answers SET content = x'00' WHERE reservation = 4", "stored answer of reservation 4"),
        ("DELETE FROM answers WHERE reservation = 4", "stored answer of reservation 4"),
        ("INSERT INTO answers VALUES (8, x'00')", "answers that no entry settled"),
        ("UPDATE reservations SET request = NULL WHERE id = 4", "do not follow from the entries"),
        ("UPDATE reservations SET cost = cost + 1 WHERE id = 4", "do not follow from the entries"),
    ],
)
def test_noticed_by_the_full_walk(filled: Path, edit: Edit, edit_text: str, words: str) -> None:
    edit(filled, edit_text)
    with Ledger.open(filled) as ledger, pytest.raises(LedgerCorrupt, match=words):
        ledger.verify()


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        (["UPDATE answers SET content = x'00' WHERE reservation = 4"], "is missing or was changed"),
        (["UPDATE reservations SET cost = cost + 1 WHERE id = 4"], "pointer to reservation 4 was changed"),
        (["UPDATE reservations SET settled = 11 WHERE id = 4"], "missing or unreadable"),
        (["UPDATE reservations SET settled = 9 WHERE id = 4"], "outcome of reservation 4 was changed"),
        (
            ["UPDATE reservations SET settled = 12 WHERE id = 6", "UPDATE reservations SET settled = 7 WHERE id = 4"],
            "outcome of reservation 4 was changed",
        ),
    ],
)
def test_noticed_before_an_answer_is_returned(filled: Path, edit: Edit, edits: list[str], words: str) -> None:
    """No edit of the pointers can pass one reservation's answer off as another's, made while the ledger is open."""
    with Ledger.open(filled) as ledger:
        edit(filled, *edits)
        with pytest.raises(LedgerCorrupt, match=words):
            ledger.find("patients", "alice", "q0", "1", Charge(Fraction(1, 4)))


def test_noticed_while_open(filled: Path, edit: Edit, reserve: Any) -> None:
    ledger = Ledger.open(filled)
    edit(filled, "UPDATE reservations SET settled = NULL WHERE id = 4")
    with pytest.raises(LedgerCorrupt, match="state of reservation 4 was changed"):
        reserve(ledger, question="q0", request="r0")
    with pytest.raises(LedgerCorrupt, match="state of reservation 4 was changed"):
        ledger.settle(4, b"again")
    edit(
        filled, "UPDATE reservations SET settled = 5 WHERE id = 4", "UPDATE reservations SET settled = 11 WHERE id = 8"
    )
    with pytest.raises(LedgerCorrupt, match="reservation 8 was changed behind the ledger"):
        ledger.fail(8)
    edit(filled, "UPDATE reservations SET settled = NULL WHERE id = 8", "UPDATE accounts SET spent = 0")
    with pytest.raises(LedgerCorrupt, match="account of people 'patients' was changed behind the ledger"):
        reserve(ledger, cost="1/8")
    with pytest.raises(LedgerCorrupt, match="spent is not the sum of their entries"):
        ledger.verify()
    edit(filled, "DELETE FROM entries WHERE sequence = 5")
    with pytest.raises(LedgerCorrupt):
        list(ledger.entries())
    ledger.close()


def test_a_spent_delta_that_was_changed_is_noticed(ledger: Ledger, folder: Path, ask: Any, edit: Edit) -> None:
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4), Fraction(1, 1000)), terms={})
    ask(ledger, None, "1/4", people="staff", delta="1e-6")
    ledger.close()
    edit(folder, "UPDATE accounts SET spent_delta = 0")
    with pytest.raises(LedgerCorrupt, match=r"accounts or reservations .* were changed"):
        Ledger.open(folder)


def test_an_inconsistent_file_is_noticed(filled: Path, edit: Edit) -> None:
    """An index that disagrees with its table passes every other check."""
    edit(
        filled,
        "CREATE TABLE other (question, cost, delta, id INTEGER PRIMARY KEY)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'reservations_open')"
        " WHERE name = 'reservations_by_question'",
        "DROP TABLE other",
    )
    with pytest.raises(LedgerCorrupt), Ledger.open(filled) as ledger:
        ledger.verify()


def rewrite(folder: Path, ledger: Ledger, *links: Link) -> None:
    """Somebody who does hold the key appends to the chain."""
    with ledger._journal._store.transaction(write=True) as connection:
        for link in links:
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", link.row)


def test_a_gap_or_a_wrong_commitment_under_a_valid_seal(ledger: Ledger, folder: Path) -> None:
    key = (folder / "ledger.key").read_bytes()
    with ledger._journal.reading() as page:
        head = page.head
    event = canonical_json({"event": "x", "body": {}})
    rewrite(folder, ledger, seal(key, head.mac, 5, "event", event, head.state))
    with pytest.raises(LedgerCorrupt, match="entry 4 of the ledger is missing"):
        ledger.balance("patients")
    rewrite(folder, ledger, seal(key, head.mac, 4, "event", event, bytes(32)))
    with ledger._journal._store.transaction(write=True) as connection:
        connection.execute("DROP TRIGGER entries_no_delete")
        connection.execute("DELETE FROM entries WHERE sequence = 5")
    with pytest.raises(LedgerCorrupt, match="entry 4 of the ledger commits to another state"):
        ledger.verify()


def test_a_ledger_beside_its_anchor(ledger: Ledger, folder: Path) -> None:
    """The anchor has seen another entry of the same number, or one from which the newest does not follow."""
    key = (folder / "ledger.key").read_bytes()
    with ledger._journal.reading() as page:
        newest = page.head
        with pytest.raises(LedgerCorrupt, match="entry 3 of the ledger is not the one its anchor has seen"):
            ledger._journal.hold_to(page, Mark(3, bytes(32)))
        page.head = seal(key, bytes(32), 3, "event", "{}", newest.state)
        with pytest.raises(LedgerCorrupt, match="does not lead from its anchor"):
            ledger._journal.hold_to(page, Mark(3, newest.mac))
        with pytest.raises(LedgerCorrupt, match="does not end where it was followed to"):
            verify_page(page, ledger._folder)
        with pytest.raises(LedgerCorrupt, match="an entry that cannot exist"):
            page.entry(-1)
        page.head = newest


def entry(sequence: int, kind: str, /, **body: Any) -> Link:
    return seal(KEY, NO_SEAL, sequence, kind, canonical_json(body), bytes(32))


def test_the_book_refuses_what_this_code_would_not_write() -> None:
    """Even under a valid seal."""
    book = Book()
    opening = {"people": "p", "analyst": None, "kind": "pure", "cost": "1", "delta": "0", "terms": {}}
    book.apply(entry(2, "account", **opening))
    with pytest.raises(LedgerCorrupt, match="twice"):
        book.apply(entry(3, "account", **opening))
    for units in (10**15 + 1, -1):
        with pytest.raises(LedgerCorrupt, match="passes the cap"):
            book.apply(replace(entry(4, "reserve", people="p", units=[[2, units, 0]]), version=1))
    for kind in ("settle", "fail"):
        with pytest.raises(LedgerCorrupt, match="settles what is not open"):
            book.apply(entry(5, kind, reservation=4))


@pytest.mark.parametrize("place", range(6))
def test_rows_of_wrong_types_are_unreadable(place: int) -> None:
    row: list[object] = list(entry(1, "event", event="x", body={}).row)
    assert authentic(KEY, NO_SEAL, tuple(row)).kind == "event"
    row[place] = 1.5
    with pytest.raises(LedgerCorrupt):
        authentic(KEY, NO_SEAL, tuple(row))


@pytest.mark.parametrize(("previous", "row"), [(None, entry(1, "event").row), (NO_SEAL, None), (NO_SEAL, (1, 2))])
def test_missing_rows_are_noticed(previous: object, row: Any) -> None:
    with pytest.raises(LedgerCorrupt, match="missing or unreadable"):
        authentic(KEY, previous, row)


def test_a_body_has_one_text() -> None:
    assert canonical_json({"b": "\u00e9", "a": [1, None]}) == '{"a":[1,null],"b":"\\u00e9"}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})


def test_the_seal_covers_every_field_and_the_key() -> None:
    base = (KEY, NO_SEAL, 1, "event", "{}", bytes(32), 1)
    others = [b"k" * 32, b"p" * 32, 2, "fail", "[]", b"s" * 32, 2]
    seals = {seal(*base).mac}
    for place, other in enumerate(others):
        changed = list(base)
        changed[place] = other
        seals.add(seal(*changed).mac)  # type: ignore[arg-type]
    assert len(seals) == 8
