"""A ledger that an older dither wrote opens, is proven, and is served by the rules that it was made under."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerCorrupt, LedgerError, PeopleFrozen, PolicyError
from dither.ledger import Charge, Ledger, chain, index, kinds, page, totals
from dither.ledger.journal import Journal
from dither.ledger.kinds import VERSION
from dither.ledger.page import Page
from dither.ledger.storage.anchor import Anchor
from dither.ledger.storage.schema import LAYOUT
from dither.ledger.storage.store import File

OLDER = (1, 2, 4)
LAYOUTS = {1: 1, 2: 2, 4: 3}  # of the tables that each wrote


@pytest.fixture
def old(written: Any) -> Path:
    """Layout 1, entries of version 1: of the patients' 4 alice has 3 and bob 2, and a stranger was charged."""
    folder: Path = written(1)
    return folder


def layout(folder: Path) -> int:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return int(found)


def rows(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    found = connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall()
    connection.close()
    return found


@pytest.mark.parametrize("version", OLDER)
def test_it_opens_and_is_proven(written: Any, version: int) -> None:
    folder = written(version)
    assert layout(folder) == LAYOUTS[version]
    before = rows(folder)
    for _ in range(2):
        with Ledger.open(folder) as ledger:
            assert ledger.verify() == len(list(ledger.entries())) == len(before) + 1
            assert [entry.version for entry in ledger.entries()] == [version] * len(before) + [VERSION]
            assert [entry.body["snapshot"] for entry in ledger.events(["register", "refresh"])] == ["2", "1"]
    assert layout(folder) == LAYOUT
    assert rows(folder)[:-1] == before, "entries are never written again"


def test_what_version_2_holds(written: Any, ask: Any, reserve: Any) -> None:
    with Ledger.open(written(2)) as ledger:
        assert ledger.balance("patients", "alice").spent.cost == Fraction(1)
        assert ledger.balance("patients").spent.cost == Fraction(5, 4)
        assert ledger.balance("staff").spent == Charge(Fraction(3, 4), Fraction(13333333333334, 10**21))
        assert [pending.question for pending in ledger.pending()] == ["late", "open"]
        assert (ledger.breaker.incidents(), ledger.breaker.frozen()) == ({"staff": 1}, {"staff"})
        assert ledger.stored_bytes(None) == 64 + 14, "answers and recorded texts"
        assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 2))) == b"answer"
        assert ledger.find("patients", None, "large", "1", Charge(Fraction(1, 4))) == bytes(range(64))
        with pytest.raises(PeopleFrozen):
            reserve(ledger, "bob", people="staff")
        assert reserve(ledger, "alice", "1/4", question="open", request="r2").state == "reserved"
        ask(ledger, "alice", "1/4", question="more")
        ledger.verify()


def test_what_version_4_holds(written: Any, ask: Any) -> None:
    with Ledger.open(written(4)) as ledger:
        assert ledger.balance("patients", "alice").spent.cost == Fraction(3, 4)
        assert ledger.balance("patients").spent.cost == Fraction(1)
        assert [(pending.question, pending.request) for pending in ledger.pending()] == [("open", "r2")]
        assert (ledger.breaker.incidents(), ledger.breaker.frozen()) == ({}, frozenset())
        assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 2))) == b"answer"
        ask(ledger, "alice", "1/4", question="more")
        ledger.desk.lower("patients", "alice", cap=Charge(Fraction(1)), terms={}, reason="it is enough")
        ledger.verify()


@pytest.mark.parametrize("version", OLDER[:2])
def test_its_anchor_gets_totals_with_the_first_write(written: Any, version: int) -> None:
    folder = written(version)
    anchor = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    assert anchor.read().totals is None
    with Ledger.open(folder) as ledger:
        found = {total.opened: total.spent for total in totals.unpack(anchor.read().totals or b"")}
        with ledger._journal.reading() as page:
            assert anchor.read() == page.mark()
            assert found == {account.opened: account.spent for account in page.book.accounts.values()}


@pytest.mark.parametrize(
    "edit_text",
    [
        "UPDATE reservations SET request = NULL",
        "UPDATE reservations SET cost = cost + 1 WHERE id = 9",
        "UPDATE reservations SET settled = settled + 100 WHERE settled IS NOT NULL",
        "DELETE FROM reservations WHERE id = 9",
        "UPDATE entries SET body = '{}' WHERE sequence = 9",
    ],
)
@pytest.mark.parametrize("version", OLDER[:2])
def test_all_is_proven_before_it_is_sealed_anew(written: Any, edit: Any, version: int, edit_text: str) -> None:
    """What the older entries did not commit to could have been changed before."""
    folder = written(version)
    edit(folder, edit_text)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(folder)
    assert layout(folder) == version


def test_planted_bug_nothing_is_proven_before(written: Any, edit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.ledger.verify_page", lambda *_: 0)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_all_is_proven_before_it_is_sealed_anew(written, edit, 2, "DELETE FROM reservations WHERE id = 9")


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
        assert {entry.version for entry in ledger.entries()} == {1, VERSION}
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


def older_dither(patch: pytest.MonkeyPatch, version: int) -> None:
    """One that writes and reads no later version, and knows nothing of what came with it."""
    append = Page.append

    def without_nonce(self: Page, kind: str, body: Any) -> Any:
        return append(self, kind, {name: body[name] for name in body if name != "nonce"})

    patch.setattr(Page, "append", without_nonce)
    patch.setattr(page, "VERSION", version)
    patch.setattr(page, "seal", partial(chain.seal, version=version))
    patch.setattr(kinds, "KINDS", {number: kinds.KINDS[number] for number in range(1, version + 1)})
    patch.setattr(Journal, "upgrade", lambda *_: None)
    patch.setattr(File, "check_tables", lambda connection: None)
    patch.setattr(page, "NOTES", "SELECT sequence FROM entries WHERE kind IN ('incident', 'freeze', 'thaw')")
    if version == 1:
        patch.setattr(index, "count_bytes", lambda page, number, size: None)


def go_on_as_before(folder: Path, monkeypatch: pytest.MonkeyPatch, reserve: Any, version: int) -> None:
    """An older dither has the ledger open while a newer one upgrades it: its rules and layout are old."""
    with monkeypatch.context() as older:
        older_dither(older, version)
        opened = Ledger.open(folder)
    with Ledger.open(folder) as ledger:
        ledger.verify()
    with monkeypatch.context() as older, opened:
        older_dither(older, version)
        with suppress(LedgerError):
            opened.settle(reserve(opened, "alice", "1/8").id, b"answer")
    with Ledger.open(folder) as ledger:
        ledger.verify()


@pytest.mark.parametrize("version", OLDER)
def test_an_older_dither_that_has_it_open_stops(
    written: Any, version: int, monkeypatch: pytest.MonkeyPatch, reserve: Any
) -> None:
    folder = written(version)
    go_on_as_before(folder, monkeypatch, reserve, version)
    with Ledger.open(folder) as ledger:
        assert [entry.kind for entry in ledger.entries()][-1] == "upgraded"


def test_planted_bug_nothing_tells_an_older_dither(old: Path, monkeypatch: pytest.MonkeyPatch, reserve: Any) -> None:
    append = Page.append

    def silent(self: Page, kind: str, body: Any) -> Any:
        return self.head if body.get("event") == "upgraded" else append(self, kind, body)

    monkeypatch.setattr(Page, "append", silent)
    with pytest.raises(LedgerCorrupt, match="bytes that analysts have stored"):
        go_on_as_before(old, monkeypatch, reserve, 1)
