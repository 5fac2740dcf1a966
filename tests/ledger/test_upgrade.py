"""A ledger that an older dither wrote opens, is proven, and is served by the rules that it was made under."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerCorrupt, LedgerError, PolicyError
from dither.ledger import Charge, Ledger, chain, index, journal
from dither.ledger.journal import Journal, Page
from dither.ledger.schema import LAYOUT

OLD = Path(__file__).with_name("fixtures") / "version1.json"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Layout 1, entries of version 1: of the patients' 4 alice has 3 and bob 2, and a stranger was charged."""
    written = json.loads(OLD.read_text(encoding="utf-8"))
    folder = tmp_path / "old"
    folder.mkdir(mode=0o700)
    (folder / "answers").mkdir(mode=0o700)
    slots = [bytes.fromhex(slot).ljust(4096, b"\0") for slot in written["anchor"]]
    for name, content in (("ledger.key", bytes.fromhex(written["key"])), ("ledger.anchor", b"".join(slots))):
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    for statement in written["schema"]:
        connection.execute(statement)
    for table, rows in written["rows"].items():
        for row in rows:
            values = [bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for value in row]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    connection.execute(f"PRAGMA application_id = {written['application_id']}")
    connection.execute(f"PRAGMA user_version = {written['user_version']}")
    connection.close()
    (folder / "ledger.sqlite").chmod(0o600)
    return folder


def layout(folder: Path) -> int:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return int(found)


def test_it_opens_and_is_proven(old: Path) -> None:
    assert layout(old) == 1
    for _ in range(2):
        with Ledger.open(old) as ledger:
            assert ledger.verify() == len(list(ledger.entries()))
            assert [entry.version for entry in ledger.entries()] == [1] * (ledger.verify() - 1) + [2]
            assert [entry.body["snapshot"] for entry in ledger.events(["register", "refresh"])] == ["2", "1"]
    assert layout(old) == LAYOUT


def test_caps_that_exceed_a_budget_stay(old: Path, reserve: Any) -> None:
    """As if these people were oversubscribed: 4 - 1 spent is less than what alice and bob may still spend."""
    with Ledger.open(old) as ledger:
        assert ledger.balance("patients").free == ledger.balance("patients").left == Charge(Fraction(3))
        with pytest.raises(PolicyError, match="epsilon 0 is neither spent nor reserved"):
            ledger.open_account("patients", "carol", kind="pure", cap=Charge(Fraction(1)), terms={})
        reserve(ledger, None, "1")
        reserve(ledger, "bob", "2")
        with pytest.raises(BudgetExceeded, match="the price does not fit"):
            reserve(ledger, "alice", "1/2")
        assert {entry.version for entry in ledger.entries()} == {1, 2}
        ledger.verify()


def test_caps_that_fit_are_reserved_from_now_on(old: Path, reserve: Any) -> None:
    with Ledger.open(old) as ledger:
        assert ledger.balance("staff").free.cost == Fraction(2)
        with pytest.raises(BudgetExceeded, match="not reserved"):
            reserve(ledger, None, "5/2", people="staff")
        reserve(ledger, None, "2", people="staff")
        reserve(ledger, "alice", "1/2", people="staff", delta="9/100000000")
        ledger.verify()


def test_a_stranger_is_served_once_the_curator_has_made_an_account(old: Path, reserve: Any) -> None:
    with Ledger.open(old) as ledger:
        ledger.open_account("staff", "mallory", kind="basic", cap=Charge(Fraction(1)), terms={})
        with pytest.raises(PolicyError, match="no cap on people 'patients'"):
            reserve(ledger, "mallory", "1/4", request="m1")
        assert [pending.analyst for pending in ledger.pending()] == ["mallory"]


def test_restoring_its_anchor(old: Path) -> None:
    (old / "ledger.anchor").unlink()
    Ledger.restore_anchor(old)
    with Ledger.open(old) as ledger:
        assert [entry.kind for entry in ledger.entries()][-1] == "anchor_restored"


def test_tables_that_are_not_of_that_layout_are_refused(old: Path) -> None:
    connection = sqlite3.connect(old / "ledger.sqlite", isolation_level=None)
    connection.execute("CREATE INDEX entries_events ON entries (kind)")
    connection.close()
    with pytest.raises(LedgerCorrupt, match="tables of the ledger were changed"):
        Ledger.open(old)
    connection = sqlite3.connect(old / "ledger.sqlite", isolation_level=None)
    connection.execute("DROP INDEX entries_events")
    connection.execute("DROP TRIGGER entries_no_delete")
    connection.close()
    with pytest.raises(LedgerCorrupt, match="tables of the ledger were changed"):
        Ledger.open(old)


def go_on_as_before(folder: Path, monkeypatch: pytest.MonkeyPatch, reserve: Any) -> None:
    """An older dither has the ledger open while a newer one upgrades it: its rules and layout are old."""
    with monkeypatch.context() as older:
        older.setattr(journal, "VERSION", 1)
        older.setattr(chain, "READABLE", frozenset({1}))
        older.setattr(Journal, "upgrade", lambda self, count: None)
        older.setattr(journal, "check_tables", lambda connection: None)
        older.setattr(index, "count_bytes", lambda page, number, size: None)
        older.setattr(journal, "INCIDENTS", "SELECT sequence FROM entries WHERE kind = 'incident'")
        opened = Ledger.open(folder)
    with Ledger.open(folder) as ledger:
        ledger.verify()
    with monkeypatch.context() as older, opened:
        older.setattr(journal, "VERSION", 1)
        older.setattr(journal, "seal", partial(chain.seal, version=1))
        older.setattr(chain, "READABLE", frozenset({1}))
        older.setattr(index, "count_bytes", lambda page, number, size: None)
        with suppress(LedgerError):
            opened.settle(reserve(opened, "alice", "1/8").id, b"answer")
    with Ledger.open(folder) as ledger:
        ledger.verify()


def test_an_older_dither_that_has_it_open_stops(old: Path, monkeypatch: pytest.MonkeyPatch, reserve: Any) -> None:
    go_on_as_before(old, monkeypatch, reserve)
    with Ledger.open(old) as ledger:
        assert [entry.kind for entry in ledger.entries()][-1] == "upgraded"


def test_planted_bug_nothing_tells_an_older_dither(old: Path, monkeypatch: pytest.MonkeyPatch, reserve: Any) -> None:
    append = Page.append

    def silent(self: Page, kind: str, body: Any) -> Any:
        return self.head if body.get("event") == "upgraded" else append(self, kind, body)

    monkeypatch.setattr(Page, "append", silent)
    with pytest.raises(LedgerCorrupt, match="bytes that analysts have stored"):
        go_on_as_before(old, monkeypatch, reserve)
