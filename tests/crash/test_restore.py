"""A restore that is killed while it copies the folder or counts: no budget is cloned, and the way back is open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import crash_kills as kills
import pytest

from dither.curator.officer import copies
from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
SPENT = Fraction(5, 10)  # when the disk was lost; the backup knows of two tenths


@pytest.fixture
def lost(fast: Path, ask: Any) -> Path:
    """A folder of which a backup and the anchor are left: three more questions were answered since the backup."""
    (fast / "safe").mkdir(mode=0o700)
    with Ledger.open(fast / "clinic", anchor=fast / "safe" / "anchor", create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(1)), terms={})
        for number in range(2):
            ask(ledger, f"r{number}", f"q{number}")
        (fast / "clinic" / "snapshots").mkdir(mode=0o700)
        (fast / "clinic" / "snapshots" / "visits.duckdb").write_bytes(bytes(10_000))
        copies.backup(fast / "clinic", fast / "monday")
        for number in range(2, 5):
            ask(ledger, f"r{number}", f"q{number}")
    shutil.rmtree(fast / "clinic")
    return fast


def seen(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).digest() for path in files}


def spent(folder: Path, anchor: Path) -> tuple[Fraction, Fraction]:
    with Ledger.open(folder, anchor=anchor) as ledger:
        ledger.verify()
        assert ledger.pending() == []
        first, second = (ledger.balance("patients", analyst).spent.cost for analyst in (None, "alice"))
        return first, second


def check_after_kill(place: Path) -> None:
    """What is there under the folder's name opens with everything spent, or not at all until it is counted."""
    copy, folder, anchor = place / "monday", place / "again", place / "safe" / "anchor"
    if not folder.exists():
        copies.restore(copy, folder, anchor=anchor)
    try:
        assert spent(folder, anchor) == (SPENT, SPENT), "what opens has counted what was spent"
    except LedgerCorrupt:
        Ledger.restore(folder, anchor=anchor)
    assert spent(folder, anchor) == (SPENT, SPENT)
    assert (folder / "snapshots" / "visits.duckdb").stat().st_size == 10_000
    copies.restore(copy, place / "twice", anchor=anchor)
    assert spent(place / "twice", anchor) == (SPENT, SPENT), "a backup is restored as often as one likes"
    with pytest.raises(LedgerError):  # and one of them goes on
        spent(folder, anchor)


def kill_restores(lost: Path, in_child: Any, stride: int) -> int:
    number, counted, before = 1, 0, seen(lost / "monday")
    while True:
        place = Path(shutil.copytree(lost, lost.with_name(f"{lost.name}-{number}")))

        def work(_: Any, number: int = number, place: Path = place) -> None:
            kills.KillAt(number).lines("dither/ledger", "officer/copies")
            copies.restore(place / "monday", place / "again", anchor=place / "safe" / "anchor")

        _, status = in_child(work).ended()
        check_after_kill(place)
        assert seen(place / "monday") == before, "the backup stays as it was"
        shutil.rmtree(place)
        if status == 0:
            return counted
        number, counted = number + stride, counted + 1


def test_a_restore_killed_at_any_line(lost: Path, in_child: Any, tally: Any, every: Callable[[int], int]) -> None:
    killed = kill_restores(lost, in_child, every(331))
    tally(kills=killed)
    assert killed > 10


def test_planted_a_restore_that_forgets_the_anchor(lost: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a restored copy takes itself for the newest state."""

    def restore(folder: Path, *, anchor: Path, **_: Any) -> None:
        anchor.unlink()
        Ledger.restore_anchor(folder, anchor=anchor)

    monkeypatch.setattr(Ledger, "restore", restore)
    with pytest.raises(AssertionError, match="what opens has counted"):
        check_after_kill(lost)
