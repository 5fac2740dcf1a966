"""A backup opens only with its anchor, which counts as spent what the backup does not know: no budget is cloned."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.curator.officer import copies
from dither.curator.officer.copies import restore

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    (tmp_path / "safe").mkdir(mode=0o700)
    return tmp_path / "safe" / "clinic.anchor"


@pytest.fixture
def backed_up(tmp_path: Path, anchor: Path, visits: Any, declared: Any) -> Iterator[dt.Curator]:
    """A clinic, a backup of it (monday), and a question and a refresh since."""
    with dt.Curator.open(tmp_path / "clinic", anchor=anchor) as clinic:
        clinic.people("patients", budget=dt.PureDP(4))
        clinic.register("visits", visits(), people="patients", **declared)
        clinic.analyst("alice", budget=dt.PureDP(2)).sql(COUNT, epsilon="0.5")
        assert clinic.officer.backup(tmp_path / "monday") == 6
        clinic.refresh("visits", visits(older=1))
        clinic.analyst("alice").sql(COUNT, epsilon="1")
        yield clinic


def test_a_backup_is_private_and_has_no_anchor(backed_up: dt.Curator, tmp_path: Path) -> None:
    found = {str(path.relative_to(tmp_path / "monday")) for path in (tmp_path / "monday").rglob("*") if path.is_file()}
    assert found == {
        "ledger.key",
        "ledger.sqlite",
        "policy.json",
        "snapshots/rank.key",
        "snapshots/visits-000001.duckdb",
    }
    for path in [tmp_path / "monday", *(tmp_path / "monday").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    with pytest.raises(dt.PolicyError, match="exists already"):
        backed_up.officer.backup(tmp_path / "monday")


def check_not_cloned(tmp_path: Path, anchor: Path) -> None:
    """The copy knows of 0.5; 1.5 of alice's 2 is spent."""
    with pytest.raises(dt.LedgerError):
        dt.Curator.open(tmp_path / "monday", create=False)
    with pytest.raises(dt.LedgerCorrupt, match="rolled back"):
        dt.Curator.open(tmp_path / "monday", anchor=anchor, create=False)
    assert restore(tmp_path / "monday", tmp_path / "again", anchor=anchor)
    with dt.Curator.open(tmp_path / "again", anchor=anchor) as again:
        alice = again.analyst("alice")
        assert (alice.budget().left.epsilon, alice.budget().state) == (dt.PureDP("0.5").epsilon, "frozen")
        assert not alice.sql(COUNT, epsilon="0.5").charged, "what the copy holds is still there"
        again.thaw("patients")
        with pytest.raises(dt.BudgetExceeded):
            alice.sql(COUNT + " WHERE age > 30", epsilon="1")
        alice.sql(COUNT + " WHERE age > 30", epsilon="0.5")
        again.verify()


def test_a_copy_counts_what_its_anchor_has_seen(backed_up: dt.Curator, tmp_path: Path, anchor: Path) -> None:
    backed_up.close()
    check_not_cloned(tmp_path, anchor)


def test_planted_a_backup_with_its_anchor(
    tmp_path: Path, visits: Any, declared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the anchor is copied too, so that the copy takes itself for the newest state."""
    monkeypatch.setattr(copies, "_LEFT_OUT", ("-wal", "-shm", "-turn", ".lock"))
    with dt.Curator.open(tmp_path / "clinic") as clinic:
        clinic.people("patients", budget=dt.PureDP(4))
        clinic.register("visits", visits(), people="patients", **declared)
        clinic.officer.backup(tmp_path / "monday")
        clinic.sql(COUNT, epsilon="4")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_not_cloned(tmp_path, tmp_path / "clinic" / "ledger.anchor")


def test_snapshot_numbers_go_on_behind_what_was_lost(
    backed_up: dt.Curator, tmp_path: Path, anchor: Path, visits: Any
) -> None:
    """Number 2 was given out after the backup: an answer about it must never be taken for one about other data."""
    lost = backed_up.tables()[0].snapshot
    backed_up.close()
    restore(tmp_path / "monday", tmp_path / "again", anchor=anchor)
    with dt.Curator.open(tmp_path / "again", anchor=anchor) as again:
        assert again.tables()[0].snapshot < lost
        again.refresh("visits", visits(older=2))
        assert again.tables()[0].snapshot > lost
        next_one = again.tables()[0].snapshot + 1
        again.refresh("visits", visits(older=3))
        assert again.tables()[0].snapshot == next_one, "once"


def test_the_newest_copy_is_served_as_it_is(tmp_path: Path, anchor: Path, visits: Any, declared: Any) -> None:
    with dt.Curator.open(tmp_path / "clinic", anchor=anchor) as clinic:
        clinic.people("patients", budget=dt.PureDP(4))
        clinic.officer.backup(tmp_path / "monday")
    shutil.rmtree(tmp_path / "clinic")
    assert not restore(tmp_path / "monday", tmp_path / "moved", anchor=anchor)
    with dt.Curator.open(tmp_path / "moved", anchor=anchor, create=False) as moved:
        assert moved.budget("patients").state == "open"


def test_cut_short_leaves_nothing_that_opens(
    backed_up: dt.Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy has its name once it is whole and proven; what was left of one is cleared away by the next."""

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(copies, "_proven", full)
        with pytest.raises(OSError, match="No space"):
            backed_up.officer.backup(tmp_path / "tuesday")
    assert not (tmp_path / "tuesday").exists()
    backed_up.officer.backup(tmp_path / "tuesday")
    assert not (tmp_path / "tuesday.partial").exists()


def test_a_damaged_backup_is_refused(backed_up: dt.Curator, tmp_path: Path, anchor: Path) -> None:
    backed_up.close()
    (tmp_path / "monday" / "ledger.key").write_bytes(bytes(32))
    with pytest.raises(dt.LedgerCorrupt):
        restore(tmp_path / "monday", tmp_path / "again", anchor=anchor)
    assert not (tmp_path / "again").exists()
    with pytest.raises(dt.PolicyError, match="no backup"):
        restore(tmp_path / "safe", tmp_path / "again", anchor=anchor)


def test_a_restore_without_its_anchor_leaves_nothing(backed_up: dt.Curator, tmp_path: Path, anchor: Path) -> None:
    """Whoever forgot to name the anchor asks again, with it."""
    backed_up.close()
    for wrong in (None, tmp_path / "new"):
        with pytest.raises(dt.LedgerError, match="anchor"):
            restore(tmp_path / "monday", tmp_path / "again", anchor=wrong)
        assert not [path for path in tmp_path.iterdir() if path.name.startswith("again")]
    restore(tmp_path / "monday", tmp_path / "again", anchor=anchor)
