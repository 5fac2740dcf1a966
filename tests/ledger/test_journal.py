"""Copies of one ledger under one anchor: only the one that the anchor has followed goes on."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.journal import Journal

TERMS: dict[str, Any] = {"kind": "pure", "cap": Charge(Fraction(1)), "terms": {"epsilon": "1"}}
# One that the anchor follows, one that is stale, and whoever looks at the stale one's file.
Pair = tuple[Ledger, Ledger, sqlite3.Connection]
Make = Callable[[], Pair]


def watch(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)


@pytest.fixture
def copies(tmp_path: Path) -> Make:
    """Two open copies of one ledger that share an anchor: a fail-over, or a copy for a test."""

    def make() -> Pair:
        anchor = tmp_path / "anchor"
        with Ledger.open(tmp_path / "one", anchor=anchor, create=True) as ledger:
            ledger.open_account("patients", None, **TERMS)
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        first, second = (Ledger.open(tmp_path / name, anchor=anchor) for name in ("one", "two"))
        return first, second, watch(tmp_path / "two")

    return make


@pytest.fixture
def restored(tmp_path: Path) -> Make:
    """A server that stays open while its file is replaced by an older copy, and that one is restored."""

    def make() -> Pair:
        folder, copy = tmp_path / "clinic", tmp_path / "copy"
        server = Ledger.open(folder, create=True)
        server.open_account("patients", None, **TERMS)
        watching = watch(folder)
        watching.execute("VACUUM INTO ?", (str(copy),))
        copy.chmod(0o600)
        server.record("later", {})
        for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (folder / name).unlink()
        os.replace(copy, folder / "ledger.sqlite")
        Ledger.restore(folder)
        ledger = Ledger.open(folder)
        ledger.breaker.thaw("patients")
        return ledger, server, watching

    return make


@pytest.fixture(params=["copies", "restored"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.getfixturevalue(request.param)
    return made


def check_only_one_goes_on(pair: Pair, ask: Any) -> None:
    """However often the stale one is asked: it never catches up with the anchor, since nothing of it is committed."""
    first, stale, watching = pair
    newest = "SELECT max(sequence) FROM entries"
    before = watching.execute(newest).fetchone()
    served = Fraction(0)
    for ledger, cost in [(first, "0.9"), *[(stale, "1e-15")] * 8, (stale, "0.9"), (first, "0.05")]:
        with suppress(LedgerError):
            ask(ledger, None, cost)
            served += Fraction(cost)
    assert served <= 1, "more was served than there is"
    assert served == Fraction("0.95"), "the one that the anchor follows is served"
    assert watching.execute(newest).fetchone() == before, "what was refused was committed"
    with pytest.raises(LedgerError, match="its anchor has seen"):
        stale.balance("patients")
    first.verify()
    first.close()


def test_only_the_one_that_the_anchor_follows_goes_on(make: Make, ask: Any) -> None:
    """Threat 20."""
    check_only_one_goes_on(make(), ask)


def test_planted_bug_lineage_is_not_checked(make: Make, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "_check_lineage", lambda *_: None)
    with pytest.raises(AssertionError, match="more was served than there is"):
        check_only_one_goes_on(make(), ask)


def test_planted_bug_lineage_is_checked_after_the_commit(make: Make, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is served, but an entry stands that nobody was told of."""

    def late(journal: Journal) -> Any:
        with journal._store.transaction(write=True) as connection:
            page = journal._page(connection, journal._known())
            yield page
        journal._trusted = page.head, page.book
        journal.anchor_up_to(page.head.sequence)

    monkeypatch.setattr(Journal, "writing", contextmanager(late))
    with pytest.raises(AssertionError, match="what was refused was committed"):
        check_only_one_goes_on(make(), ask)


def check_at_the_same_time(
    pair: Pair, reserve: Any, monkeypatch: pytest.MonkeyPatch, nonce: Callable[[int], str]
) -> None:
    """Both found the anchor behind them, and both go on with the very same question: one of them is refused."""
    first, second, _ = pair
    waiting = [first]

    def meanwhile(size: int) -> str:
        if waiting:
            reserve(waiting.pop(), None)
        return nonce(size)

    monkeypatch.setattr("dither.ledger.ledger.secrets.token_hex", meanwhile)
    with pytest.raises(LedgerCorrupt, match="not the one its anchor has seen"):
        reserve(second, None)
    with pytest.raises(LedgerError, match="not the one its anchor has seen"):
        second.pending()
    assert len(first.pending()) == 1
    first.verify()


def test_two_copies_at_the_same_time(copies: Make, reserve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_at_the_same_time(copies(), reserve, monkeypatch, secrets.token_hex)


def test_planted_bug_copies_go_on_alike(copies: Make, reserve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_at_the_same_time(copies(), reserve, monkeypatch, lambda size: "00" * size)


def test_processes_that_share_a_ledger_go_on(ledger: Ledger, folder: Path, ask: Any) -> None:
    """The anchor's newest mark is another's, and on this chain; also where the anchor came back from a backup."""
    backup = (folder / "ledger.anchor").read_bytes()
    with Ledger.open(folder) as other:
        for _ in range(3):
            ask(ledger, None, "1/10")
            ask(other, None, "1/10")
        (folder / "ledger.anchor").write_bytes(backup)
        ask(other, None, "1/10")
        ask(ledger, None, "1/10")
        assert ledger.balance("patients").spent.cost == other.balance("patients").spent.cost == Fraction(8, 10)
        assert ledger.verify() == 3 + 16


def check_views(folder: Path, database: str) -> None:
    """A view that began before somebody else's commit is older than what this process has followed: that is no loss."""
    with Ledger.open(folder, create=True, ledger=database) as ledger:
        begin = ledger._journal._reader.transaction

        @contextmanager
        def begun(*, write: bool) -> Iterator[Any]:
            with begin(write=write) as connection:
                ledger.record("noted", {})  # committed and followed while the view is open
                yield connection

        ledger._journal._reader.transaction = begun  # type: ignore[method-assign]
        assert ledger.accounts() == []
        ledger._journal._reader.transaction = begin  # type: ignore[method-assign]
        assert [entry.kind for entry in ledger.entries()].count("noted") == 1
        ledger.verify()


def test_a_view_that_began_before_a_commit(tmp_path: Path, database: str) -> None:
    check_views(tmp_path / "clinic", database)


def test_planted_bug_what_is_trusted_is_looked_up_late(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Journal._page
    monkeypatch.setattr(Journal, "_page", lambda self, connection, _: page(self, connection, self._known()))
    with pytest.raises(LedgerCorrupt, match="lost entries"):
        check_views(tmp_path / "clinic", database)
