from __future__ import annotations

import errno
import gc
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.chain import seal
from dither.ledger.kinds import VERSION
from dither.ledger.storage.anchor import Anchor
from dither.ledger.storage.schema import LAYOUT
from dither.ledger.storage.store import File, Store

Reserve = Callable[..., Any]
Ask = Callable[..., bytes]


def test_everything_is_private(ledger: Ledger, folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes.pop("answers") == 0o700
    assert set(modes) == {
        "ledger.sqlite",
        "ledger.sqlite-turn",
        "ledger.sqlite-wal",
        "ledger.sqlite-shm",
        "ledger.key",
        "ledger.anchor",
    }
    assert set(modes.values()) == {0o600}


def test_opened_again_nothing_is_lost(ledger: Ledger, folder: Path, ask: Ask) -> None:
    answer = ask(ledger)
    entries = list(ledger.entries())
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.balance("patients")
    for create in (False, True):
        with Ledger.open(str(folder), create=create) as again:
            assert list(again.entries()) == entries
            assert again.find("patients", "alice", "q", "1", Charge(Fraction(1, 4))) == answer


def test_missing_things_have_clear_errors(ledger: Ledger, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"no folder .* make one with `dither init`"):
        Ledger.open(tmp_path / "nowhere")
    os.mkdir(tmp_path / "empty", 0o700)
    with pytest.raises(LedgerError, match=r"there is no ledger in .* `dither init`"):
        Ledger.open(tmp_path / "empty")
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.open(tmp_path / "file" / "folder", create=True)
    ledger.close()
    key = (folder / "ledger.key").read_bytes()
    (folder / "ledger.key").unlink()
    for create in (False, True):
        with pytest.raises(LedgerError, match=r"key .* is missing; restore it"):
            Ledger.open(folder, create=create)
    (folder / "ledger.key").write_bytes(key)
    (folder / "ledger.key").chmod(0o640)
    with pytest.raises(LedgerError, match=r"open to others \(mode 640\); run: chmod 600"):
        Ledger.open(folder)
    (folder / "ledger.key").chmod(0o600)
    (folder / "ledger.key").write_bytes(key[:-1])
    with pytest.raises(LedgerCorrupt, match="must have 32 bytes; it has 31"):
        Ledger.open(folder)
    (folder / "ledger.key").write_bytes(bytes(32))
    with pytest.raises(LedgerCorrupt, match=r"anchor .* is damaged or belongs to another ledger"):
        Ledger.open(folder)


def test_a_read_only_or_shared_folder_is_refused(ledger: Ledger, folder: Path) -> None:
    ledger.close()
    folder.chmod(0o500)
    for create in (False, True):
        with pytest.raises(LedgerError, match="is read-only; charges could not be recorded"):
            Ledger.open(folder, create=create)
    folder.chmod(0o750)
    with pytest.raises(LedgerError, match=r"open to others \(mode 750\); run: chmod 700"):
        Ledger.open(folder)
    folder.chmod(0o700)
    (folder / "ledger.sqlite").chmod(0o644)
    with pytest.raises(LedgerError, match=r"ledger.sqlite is open to others"):
        Ledger.open(folder)


def test_an_external_anchor_is_needed_at_every_opening(tmp_path: Path, ask: Ask) -> None:
    folder, anchor = tmp_path / "clinic", tmp_path / "elsewhere"
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.open(folder, anchor=tmp_path / "missing" / "anchor", create=True)
    # What was begun is finished.
    with Ledger.open(folder, anchor=anchor, create=True) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(1)), terms={})
        ask(ledger, None)
    assert not (folder / "ledger.anchor").exists()
    with pytest.raises(LedgerError, match="Give the anchor this ledger was made with"):
        Ledger.open(folder)
    shutil.copy(anchor, folder / "ledger.anchor")
    with pytest.raises(LedgerError, match="made with an external anchor"):
        Ledger.open(folder)
    with Ledger.open(folder, anchor=str(anchor)) as again:
        assert again.verify() == 4


def test_the_whole_folder_rolled_back_is_refused(tmp_path: Path, ask: Ask) -> None:
    """Threat 20, with the anchor outside the folder; a folder that is gone altogether is noticed, too."""
    folder, anchor = tmp_path / "clinic", tmp_path / "anchor"
    with Ledger.open(folder, anchor=anchor, create=True) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(1)), terms={})
    shutil.copytree(folder, tmp_path / "backup")
    with Ledger.open(folder, anchor=anchor) as ledger:
        ask(ledger, None)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    with pytest.raises(LedgerCorrupt, match="has 2 entries, but its anchor has seen 4: it was rolled back"):
        Ledger.open(folder, anchor=anchor)
    (folder / "ledger.sqlite").unlink()
    with pytest.raises(LedgerCorrupt, match="remembers a ledger that is gone"):
        Ledger.open(folder, anchor=anchor, create=True)
    (folder / "ledger.sqlite").unlink()
    (folder / "ledger.sqlite").touch(0o600)
    with pytest.raises(LedgerCorrupt, match="is empty, but its anchor is not"):
        Ledger.open(folder, anchor=anchor)


def test_the_first_mark_is_made_under_the_write_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one who looked for an anchor before another made it could set it back to the first entry."""
    create, locked = Anchor.create, []

    def watched(self: Anchor, mark: Any) -> None:
        other = sqlite3.connect(tmp_path / "clinic" / "ledger.sqlite", timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
        locked.append(mark.sequence)
        create(self, mark)

    monkeypatch.setattr(Anchor, "create", watched)
    Ledger.open(tmp_path / "clinic", create=True).close()
    assert locked == [1]


def test_a_ledger_with_history_never_gets_a_first_mark(ledger: Ledger, folder: Path) -> None:
    ledger.close()
    (folder / "ledger.anchor").unlink()
    for create in (False, True):
        with pytest.raises(LedgerError, match=r"ledger.anchor cannot be read"):
            Ledger.open(folder, create=create)


def test_a_lost_anchor_is_replaced_only_on_purpose(ledger: Ledger, folder: Path, ask: Ask, edit: Any) -> None:
    ask(ledger)
    ledger.close()
    with pytest.raises(LedgerError, match="there is a file"):
        Ledger.restore_anchor(folder)
    (folder / "ledger.anchor").unlink()
    with pytest.raises(LedgerError, match="made with its own anchor"):
        Ledger.restore_anchor(folder, anchor=folder / "another")
    Ledger.restore_anchor(folder)
    with Ledger.open(folder) as again:
        assert [entry.kind for entry in again.entries()][-1] == "anchor_restored"
        assert again.verify() == 6
    (folder / "ledger.anchor").unlink()
    edit(folder, "UPDATE answers SET content = x'00'")
    with pytest.raises(LedgerCorrupt):
        Ledger.restore_anchor(folder)


def test_creation_cut_short_is_finished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dither.ledger.storage.anchor.Anchor.create", _power_cut)
        with pytest.raises(OSError, match="power"):
            Ledger.open(folder, create=True)
    with Ledger.open(folder, create=True) as ledger:
        assert ledger.verify() == 1


@pytest.mark.parametrize(
    "step", ["storage.files.Folder.check_unused", "journal.Journal._begin", "journal.Journal.open"]
)
def test_creation_cut_short_anywhere_is_finished(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"dither.ledger.{step}", _power_cut)
        with pytest.raises(OSError, match="power"):
            Ledger.open(folder, create=True)
    with Ledger.open(folder, create=True) as ledger:
        assert ledger.verify() == 1


def check_no_second_beginning(folder: Path, anchor: Path, left: str, named: Path | None) -> None:
    """A ledger that is gone, where its anchor is not named, or another: a new one would give all budgets again."""
    with Ledger.open(folder, anchor=anchor, create=True) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(1)), terms={})
    (folder / "ledger.sqlite").unlink()
    if left == "nothing in it":
        (folder / "ledger.sqlite").touch(0o600)
    elif left == "no tables":
        connection = sqlite3.connect(folder / "ledger.sqlite")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        (folder / "ledger.sqlite").chmod(0o600)
    with pytest.raises(LedgerCorrupt, match="is empty or gone, but the folder was used"):
        Ledger.open(folder, anchor=named, create=True)


LEFT = ["no file", "nothing in it", "no tables"]


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize(
    ("anchor", "named"), [("anchor", None), ("anchor", "other"), ("clinic/ledger.anchor", "other")]
)
def test_a_used_folder_begins_no_new_ledger(tmp_path: Path, left: str, anchor: str, named: str | None) -> None:
    check_no_second_beginning(tmp_path / "clinic", tmp_path / anchor, left, named and tmp_path / named)


@pytest.mark.parametrize("left", LEFT)
def test_planted_bug_a_second_beginning(tmp_path: Path, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.storage.files.Folder.check_unused", lambda folder: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_no_second_beginning(tmp_path / "clinic", tmp_path / "anchor", left, None)


def _power_cut(*_: object) -> None:
    raise OSError("power")


def check_newer_layout(ledger: Ledger, folder: Path, edit: Any) -> None:
    ledger.close()
    edit(folder, f"PRAGMA user_version = {LAYOUT + 1}")
    with pytest.raises(LedgerError, match=f"layout {LAYOUT + 1}, made by a newer dither"):
        Ledger.open(folder)


def test_a_newer_layout_is_refused_as_such(ledger: Ledger, folder: Path, edit: Any) -> None:
    """Threat 51."""
    check_newer_layout(ledger, folder, edit)


def check_newer_entry(ledger: Ledger, folder: Path, kind: str, version: int) -> None:
    key = (folder / "ledger.key").read_bytes()
    with ledger._journal._store.transaction(write=True) as connection:
        (previous, state) = connection.execute("SELECT mac, state FROM entries WHERE sequence = 3").fetchone()
        link = seal(key, previous, 4, kind, "{}", state, version)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", link.row)
    words = (
        "was written by a newer dither" if version > VERSION else f"has a kind, '{kind}', that version {version} has"
    )
    with pytest.raises(LedgerError, match=words) as refusal:
        ledger.balance("patients")
    assert isinstance(refusal.value, LedgerCorrupt) == (version <= VERSION)
    ledger.close()
    with pytest.raises(LedgerError, match=words):
        Ledger.open(folder)


UNKNOWN_ENTRIES = [("event", VERSION + 1), ("epoch", VERSION + 1), ("epoch", VERSION), ("epoch", 1), ("event", 0)]


@pytest.mark.parametrize(("kind", "version"), UNKNOWN_ENTRIES)
def test_a_newer_entry_is_refused_as_such(ledger: Ledger, folder: Path, kind: str, version: int) -> None:
    """Threat 51. An unknown kind of a version that is known is damage."""
    check_newer_entry(ledger, folder, kind, version)


@pytest.mark.parametrize(("kind", "version"), UNKNOWN_ENTRIES)
def test_planted_bug_reading_newer_entries(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, version: int
) -> None:
    """Planted bug: versions and kinds of entries are not looked at."""
    monkeypatch.setattr("dither.ledger.chain.check_kind", lambda *_: None)
    monkeypatch.setattr("dither.ledger.chain.check_body", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_newer_entry(ledger, folder, kind, version)


def test_planted_bug_opening_a_newer_layout(
    ledger: Ledger, folder: Path, edit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.ledger.storage.store.File.check_tables", lambda connection: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_newer_layout(ledger, folder, edit)


def test_durability_settings_are_read_back(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Threat 21."""
    with ledger._journal._store.transaction(write=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    monkeypatch.setattr("dither.ledger.storage.store._SETTINGS", {"synchronous": 7})
    with pytest.raises(LedgerError, match="SQLite does not accept synchronous = 7; charges would not be durable"):
        Ledger.open(folder)


def test_old_sqlite_is_refused(ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 36, 0))
    with pytest.raises(LedgerError, match=r"needs SQLite 3.37 or newer"):
        Ledger.open(folder)


def test_a_journal_that_is_not_wal_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    monkeypatch.setattr("sqlite3.connect", lambda *_, **__: memory)
    with (
        pytest.raises(LedgerError, match="journal mode 'memory' here, not WAL"),
        Store(tmp_path / "x").transaction(write=False),
    ):
        raise AssertionError


def test_opening_waits_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = sqlite3.connect(tmp_path / "x", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.2, other.execute, ["ROLLBACK"])
    release.start()
    with Store(tmp_path / "x").transaction(write=True) as connection:
        assert connection.in_transaction
    release.join()
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("dither.ledger.storage.store._WAIT_SECONDS", 0.05)
    with (
        pytest.raises(LedgerError, match="in use by another process that does not let go"),
        Store(tmp_path / "x").transaction(write=True),
    ):
        raise AssertionError
    other.close()


class Contended(File):
    """Two processes that turn a new file to WAL at once are told so without waiting, to avoid a deadlock."""

    refusals = 0

    def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
        if "WAL" in statement and Contended.refusals:
            Contended.refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(statement, *given)


def test_opening_tries_again_when_others_open_too(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda *given, **named: connect(*given, **named | {"factory": Contended}))
    Contended.refusals = 3
    with Ledger.open(folder) as other:
        assert other.verify() == 3
    assert Contended.refusals == 0
    Contended.refusals = 10**6
    monkeypatch.setattr("dither.ledger.storage.store._WAIT_SECONDS", 0.05)
    with pytest.raises(LedgerError, match="in use by another process"):
        Ledger.open(folder)
    Contended.refusals = 0


def test_an_anchor_that_cannot_be_written_stops_the_ledger(
    ledger: Ledger, folder: Path, reserve: Reserve, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threat 21: after an error of the disk nothing is returned, the charge stands, and nothing more is served."""

    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("dither.ledger.storage.anchor.sync", fails)
        with pytest.raises(LedgerError, match=r"anchor .* cannot be written: Input/output error"):
            reserve(ledger, request="r1")
    with pytest.raises(LedgerError, match=r"anchor .* cannot be written"):
        ledger.balance("patients")
    with Ledger.open(folder) as again:
        assert again.balance("patients").spent.cost == Fraction(1, 4)
        ask(again, request="r1")
        assert again.balance("patients").spent.cost == Fraction(1, 4)
        assert again.verify() == 5


def test_a_full_disk_stops_the_ledger(ledger: Ledger, folder: Path, reserve: Reserve) -> None:
    """Threat 21: nothing was returned, so nothing needs to be charged; what was charged before still is."""
    reserve(ledger)
    with ledger._journal._store.transaction(write=False) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="the disk is full; nothing was returned"):
        reserve(ledger, plan="x" * 100_000)
    with pytest.raises(LedgerError, match="Repair the disk and open the ledger again"):
        reserve(ledger)
    with Ledger.open(folder) as again:
        assert again.balance("patients").spent.cost == Fraction(1, 4)
        assert again.verify() == 4


def test_an_anchor_lost_while_open_stops_the_ledger(ledger: Ledger, folder: Path, reserve: Reserve) -> None:
    (folder / "ledger.anchor").unlink()
    with pytest.raises(LedgerError, match="cannot be read"):
        reserve(ledger)
    with pytest.raises(LedgerError, match="cannot be read"):
        reserve(ledger)


def test_a_ledger_replaced_while_open_is_noticed(ledger: Ledger, folder: Path, reserve: Reserve, edit: Any) -> None:
    reserve(ledger)
    edit(folder, "UPDATE entries SET mac = zeroblob(32) WHERE sequence = 4")
    with pytest.raises(LedgerCorrupt, match="replaced by another while it was open"):
        ledger.balance("patients")
    edit(folder, "DELETE FROM entries WHERE sequence = 4")
    with pytest.raises(LedgerCorrupt, match="lost entries while it was open"):
        ledger.balance("patients")


def test_threads_share_one_ledger(ledger: Ledger, ask: Ask) -> None:
    answers: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda n=n: answers.extend(ask(ledger, None, "1/100", request=f"{n} {i}") for i in range(20))
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 80
    assert ledger.balance("patients").spent.cost == Fraction(80, 100)
    assert ledger.verify() == 3 + 160


def test_a_forgotten_ledger_closes_itself(folder: Path) -> None:
    Ledger.open(folder, create=True)
    gc.collect()
    assert not (folder / "ledger.sqlite-wal").exists()


def test_several_ledgers_of_one_folder_in_one_process(ledger: Ledger, folder: Path, ask: Ask) -> None:
    with Ledger.open(folder) as other:
        for _ in range(2):
            ask(ledger, None, "1/10")
            ask(other, None, "1/10")
        assert ledger.balance("patients") == other.balance("patients")
        assert ledger.verify() == other.verify() == 11


def test_a_read_only_database_is_refused_before_sqlite_sees_it(ledger: Ledger, folder: Path) -> None:
    ledger.close()
    before = sorted(path.name for path in folder.iterdir())
    (folder / "ledger.sqlite").chmod(0o400)
    with pytest.raises(LedgerError, match="read-only"):
        Ledger.open(folder)
    (folder / "ledger.sqlite").chmod(0o600)
    assert sorted(path.name for path in folder.iterdir()) == before
    Ledger.open(folder).close()


def test_a_key_that_cannot_be_read_is_said_so(ledger: Ledger, folder: Path) -> None:
    ledger.close()
    (folder / "ledger.key").unlink()
    (folder / "ledger.key").mkdir(mode=0o700)
    with pytest.raises(LedgerError, match="cannot be read"):
        Ledger.open(folder)
