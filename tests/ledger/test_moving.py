"""A ledger moves into a database and back: one chain, proven at both ends, and never two that can be charged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError, LedgerMissing, ParameterError
from dither.ledger import Charge, Ledger, moving
from dither.ledger.answers import LARGEST_INLINE_ANSWER
from dither.ledger.chain import canonical_json, seal
from dither.ledger.moving import move
from dither.ledger.page import COLUMNS, Page

LARGE = bytes(LARGEST_INLINE_ANSWER + 1)


@pytest.fixture
def filled(ledger: Ledger, folder: Path, ask: Any, reserve: Any) -> Path:
    """Answers, a large one, a failure, an open reservation, an incident."""
    ask(ledger, request="r1")
    ledger.settle(reserve(ledger, cost="1/100", request="large").id, LARGE)
    ledger.fail(reserve(ledger, cost="1/100").id)
    ledger.breaker.incident(reserve(ledger, cost="1/100").id, "stopped", most=9)
    reserve(ledger, cost="1/100", request="open")
    ledger.record("register", {"table": "visits"})
    ledger.close()
    return folder


def facts(ledger: Ledger) -> Any:
    entries = [entry for entry in ledger.entries() if entry.kind not in ("moved", "arrived")]
    balances = [ledger.balance(*account) for account in ledger.accounts()]
    return [(entry.kind, entry.body) for entry in entries], balances, ledger.stored_bytes("alice"), ledger.pending()


def test_there_and_back(filled: Path, database: str, ask: Any, reserve: Any) -> None:
    with Ledger.open(filled) as ledger:
        before, entries = facts(ledger), ledger.verify()
        answer = ask(ledger, request="r1")
    assert move(filled, database) == entries + 2
    with Ledger.open(filled) as ledger:
        assert (filled / "ledger.address").exists()
        assert facts(ledger) == before
        assert ask(ledger, request="r1") == answer
        assert reserve(ledger, cost="1/100", request="large").answer == LARGE
        ask(ledger, request="there", cost="1/100")
        changed = facts(ledger)
    (filled / "ledger.sqlite.moved").unlink()
    assert move(filled, "folder") == entries + 6
    with Ledger.open(filled) as ledger:
        assert not (filled / "ledger.address").exists()
        assert facts(ledger) == changed
        assert ask(ledger, request="r1") == answer
        assert reserve(ledger, cost="1/100", request="large").answer == LARGE
        ask(ledger, request="back", cost="1/100")
        ledger.verify()


def check_old_is_closed(filled: Path, database: str, reserve: Any) -> None:
    """Neither a process that has the old one open, nor a copy of it, is served any more."""
    with Ledger.open(filled) as old:
        shutil.copytree(filled, filled.with_name("copy"))
        move(filled, database)
        with pytest.raises(LedgerError, match=r"has moved to a database|not the one its anchor has seen|rolled back"):
            reserve(old)
    (filled / "ledger.address").unlink()
    if not (filled / "ledger.sqlite").exists():
        (filled / "ledger.sqlite.moved").rename(filled / "ledger.sqlite")
    with pytest.raises(LedgerError, match=r"has moved to a database|rolled back"):
        Ledger.open(filled)
    shutil.copy(filled.with_name("copy") / "ledger.sqlite", filled / "ledger.sqlite")
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Ledger.open(filled)


def test_the_old_one_is_closed(filled: Path, database: str, reserve: Any) -> None:
    check_old_is_closed(filled, database, reserve)


def test_planted_old_one_that_stays_open(
    filled: Path, database: str, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy in the sense of most tools: both can be charged."""
    append = Page.append
    monkeypatch.setattr(moving, "_leave", lambda *_: None)
    monkeypatch.setattr(Page, "append", lambda page, kind, body: kind == "arrived" or append(page, kind, body))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_old_is_closed(filled, database, reserve)


def test_an_entry_after_the_move_is_damage(filled: Path, database: str) -> None:
    with Ledger.open(filled) as ledger:
        with ledger._journal.writing() as page:
            page.append("moved", {"to": "database", "nonce": ""})
        with pytest.raises(LedgerError, match="has moved"):
            ledger.record("register", {})
        with ledger._journal._store.transaction(write=True) as connection:
            state = page.book.commitment(page.key, page.head.version)
            body = canonical_json({"event": "x", "body": {}})
            link = seal(page.key, page.head.mac, page.head.sequence + 1, "event", body, state)
            connection.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", link.row)
        with pytest.raises(LedgerCorrupt, match="moved away"):
            ledger.verify()


@pytest.mark.parametrize("step", ["_leave", "_arrive", "verify_page", "take_over", "anchor"])
def test_a_move_cut_short_is_done_again(
    filled: Path, database: str, step: str, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each step: nothing is served that could be charged twice, and saying it again completes it."""
    with Ledger.open(filled) as ledger:
        before = facts(ledger)

    def cut(function: Callable[..., Any]) -> Callable[..., Any]:
        def once(*given: Any, **named: Any) -> Any:
            function(*given, **named)
            raise KeyboardInterrupt

        return once

    with monkeypatch.context() as patch:
        if step == "take_over":
            patch.setattr("dither.ledger.storage.postgres.place.Database.take_over", cut(lambda place: None))
        elif step == "anchor":
            patch.setattr("dither.ledger.storage.anchor.Anchor.advance", cut(lambda *given: None))
        else:
            patch.setattr(moving, step, cut(getattr(moving, step)))
        with pytest.raises(KeyboardInterrupt):
            move(filled, database)
    if step != "anchor":
        with pytest.raises(LedgerError, match="has moved to a database"):
            Ledger.open(filled)
        move(filled, database)
    with Ledger.open(filled) as ledger:
        assert facts(ledger) == before
        ask(ledger, request="more", cost="1/100")
        ledger.verify()


def test_places_that_are_used_or_make_no_sense_are_refused(
    filled: Path, database: str, cluster: Any, tmp_path: Path
) -> None:
    Ledger.open(tmp_path / "other", create=True, ledger=database).close()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        move(filled, database)
    Ledger.open(filled).close()
    with pytest.raises(LedgerError, match="in the folder already"):
        move(filled, "folder")
    with pytest.raises(ParameterError, match="PostgreSQL"):
        move(filled, "elsewhere")
    with pytest.raises(LedgerError, match="at that address already"):
        move(tmp_path / "other", database)
    with pytest.raises(LedgerMissing):
        move(tmp_path / "nothing", database)
    Ledger.open(filled).close()


def test_a_damaged_ledger_does_not_move(filled: Path, database: str, edit: Any) -> None:
    edit(filled, "UPDATE stored SET bytes = bytes - 1")
    with pytest.raises(LedgerCorrupt):
        move(filled, database)
    edit(filled, "UPDATE stored SET bytes = bytes + 1")
    with Ledger.open(filled) as ledger:
        ledger.reserve("patients", None, Charge(Fraction(1, 8)), question="q", snapshot="1", plan="{}")
