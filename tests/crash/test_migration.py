"""Killed at any durable step of an upgrade or a restore: nothing is lost, it happens once, and the anchor agrees."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import crash_faulty as faulty
import crash_kills as kills
import crash_unpack
import pytest
from crash_faulty import Action, On

from dither.errors import LedgerCorrupt
from dither.ledger import Charge, Ledger, journal
from dither.ledger.storage.anchor import Anchor
from dither.ledger.totals import unpack

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
VERSIONS = (1, 2)
Check = Callable[[Path], None]


def rows(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    found = connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall()
    connection.close()
    return found


def balances(ledger: Ledger) -> dict[Any, Charge]:
    return {name: ledger.balance(*name).spent for name in ledger.accounts()}


def check_anchored(folder: Path, ledger: Ledger) -> None:
    mark = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes()).read()
    with ledger._journal.reading() as page:
        assert mark == page.mark(), "the anchor agrees"
        spent = {total.opened: total.spent for total in unpack(mark.totals or b"")}
        assert spent == {account.opened: account.spent for account in page.book.accounts.values()}


class Upgrade:
    """A ledger of an older dither, and what must hold of it however often its upgrade was cut short."""

    def __init__(self, version: int, place: Path) -> None:
        self.start = crash_unpack.unpack(version, place / f"version{version}")
        self.entries = rows(self.start)
        done = shutil.copytree(self.start, place / "done")
        with Ledger.open(done) as ledger:
            self.spent = balances(ledger)
            self.pending = ledger.pending()

    def work(self, folder: Path) -> None:
        Ledger.open(folder).close()

    def check(self, folder: Path) -> None:
        with Ledger.open(folder) as ledger:
            assert ledger.verify() == len(self.entries) + 1, "upgraded once"
            assert [entry.kind for entry in ledger.entries()].count("upgraded") == 1, "upgraded once"
            assert (balances(ledger), ledger.pending()) == (self.spent, self.pending), "nothing is lost"
            check_anchored(folder, ledger)
        assert rows(folder)[:-1] == self.entries, "no entry is written again"


class Restore:
    """A copy that is older than its anchor."""

    def __init__(self, version: int, place: Path) -> None:
        self.start = crash_unpack.unpack(version, place / f"version{version}")
        newer = shutil.copytree(self.start, place / "newer")
        with Ledger.open(newer) as ledger:
            paid = ledger.reserve("patients", "alice", Charge(Fraction(1, 8)), question="x", snapshot="1", plan="{}")
            ledger.settle(paid.id, b"released")
            self.spent = balances(ledger)
        shutil.copy(newer / "ledger.anchor", self.start / "ledger.anchor")
        self.entries = rows(self.start)

    def work(self, folder: Path) -> None:
        Ledger.restore(folder)

    def check(self, folder: Path) -> None:
        try:
            opened = Ledger.open(folder)
        except LedgerCorrupt:  # not restored yet: as it was
            assert rows(folder) == self.entries, "all or nothing"
            Ledger.restore(folder)
            opened = Ledger.open(folder)
        with opened as ledger:
            ledger.verify()
            kinds = [entry.kind for entry in ledger.entries()]
            assert (kinds.count("restore"), kinds.count("upgraded")) == (1, 1), "restored once"
            assert balances(ledger) == self.spent, "nothing is lost"
            assert (ledger.pending(), ledger.breaker.frozen()) == ([], {"patients", "staff"})
            check_anchored(folder, ledger)
        assert rows(folder)[: len(self.entries)] == self.entries, "no entry is written again"


Change = Upgrade | Restore


def kill_at_statements(change: Change, place: Path, in_child: Any) -> int:
    """A kill at every statement of SQL, each on a new copy."""
    number = 0
    while True:
        number += 1
        folder = place / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(change.start, folder)

        def work(_: Any, number: int = number, folder: Path = folder) -> None:
            kills.KillAt(number).statements()
            change.work(folder)

        _, status = in_child(work).ended()
        change.check(folder)
        if status == 0:
            return number - 1
        assert status == -signal.SIGKILL


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [Upgrade, Restore])
def test_killed_at_every_statement(kind: type[Change], version: int, fast: Path, in_child: Any, tally: Any) -> None:
    killed = kill_at_statements(kind(version, fast), fast, in_child)
    tally(kills=killed)
    assert killed > 40


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("kind", "opens"), [(Upgrade, "Ledger"), (Restore, "Restored")])
def test_killed_at_every_operation_of_the_disk(
    kind: type[Change], opens: str, version: int, disk: faulty.Disk, fast: Path, tally: Any
) -> None:
    """Before and amid every write, sync and change of a name."""
    change, killed = kind(version, fast), 0
    for action in (Action.KILL_BEFORE, Action.KILL_AMID):
        at = 0
        while True:
            at += 1
            folder = fast / "killed"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(change.start, folder)
            done = disk.ask(folder, action=action, classes=On.CHANGES, at=at, kind=opens)
            change.check(folder)
            if done.status == 0:
                break
            assert done.status == -signal.SIGKILL
            killed += 1
    tally(kills=killed)
    assert killed > 20


def test_planted_bug_an_upgrade_in_two_transactions(fast: Path, in_child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the tables are changed in one transaction, and the entry that says so is written in another."""
    upgrade = journal.Journal.upgrade

    def parted(self: journal.Journal, count: Any, prove: Any) -> None:
        with self._store.transaction(write=True) as connection:
            layout = connection.older_layout()
            if layout:
                connection.change_tables(layout)
                count(connection)
        if layout:
            with self._store.transaction(write=True) as connection:
                journal.load(connection, self._key).append("event", {"event": "upgraded", "body": {"layout": "3"}})
        upgrade(self, count, prove)

    change = Upgrade(2, fast)
    monkeypatch.setattr(journal.Journal, "upgrade", parted)
    with pytest.raises(AssertionError, match="upgraded once"):
        kill_at_statements(change, fast, in_child)
