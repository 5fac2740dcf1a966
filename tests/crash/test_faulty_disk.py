"""Threats 4, 21 and 46: a disk that fails, tears or loses any single operation, or a kill at any of them.

Whatever was released was charged and anchored, a retry returns the same bytes and is charged once in all; a disk that
loses what it claims to have written is found out, or cost nothing.
"""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import crash_faulty as faulty
import pytest
from crash_faulty import Action, On

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Ledger, journal
from dither.ledger.storage import anchor
from dither.ledger.storage.anchor import Anchor

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Ask = Callable[..., bytes]
PRICE = Fraction(1, 10)
REQUESTS = ("x", "y")


@pytest.fixture
def starts(rich: Path, fast: Path, ask: Ask, leave_in_wal: Any) -> list[Path]:
    """The same ledger twice: closed properly, and as a killed process left it."""
    with Ledger.open(rich) as ledger:
        for number in range(2):
            ask(ledger, f"old {number}")
    shutil.copytree(rich, fast / "closed")
    leave_in_wal(rich, 2)
    shutil.copytree(rich, fast / "killed")
    return [fast / "closed", fast / "killed"]


def seen_by_anchor(folder: Path) -> int:
    return Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes()).read().sequence


def settled(ledger: Ledger) -> dict[str, int]:
    """Where each request's answer was stored."""
    entries = list(ledger.entries())
    known = {entry.sequence: entry.body["request"] for entry in entries if entry.kind == "reserve"}
    return {known[entry.body["reservation"]]: entry.sequence for entry in entries if entry.kind == "settle"}


def check_after_fault(folder: Path, released: bytes, before: Fraction, ask: Ask) -> None:
    """What must hold once the disk works again."""
    mark = seen_by_anchor(folder)
    answers = [released[place : place + 16] for place in range(0, len(released), 16)]
    with Ledger.open(folder) as ledger:
        ledger.verify()
        places = settled(ledger)
        spent = ledger.balance("patients").spent.cost
        assert len(answers) * PRICE <= spent - before <= len(REQUESTS) * PRICE, "released implies charged"
        assert all(places.get(request, 0) for request in REQUESTS[: len(answers)]), "released implies stored"
        assert all(places[request] <= mark for request in REQUESTS[: len(answers)]), "released implies anchored"
        retried = [ask(ledger, request) for request in REQUESTS]
        assert retried[: len(answers)] == answers, "a retry returns the same bytes"
        assert ledger.balance("patients").spent.cost == before + len(REQUESTS) * PRICE, "charged once in all"
        assert ledger.pending() == []
        ledger.verify()


def spent_in(folder: Path) -> Fraction:
    with Ledger.open(folder) as ledger:
        return ledger.balance("patients").spent.cost


def fault_everywhere(
    disk: faulty.Disk, start: Path, ask: Ask, action: Action, classes: On, *, stride: int, **named: Any
) -> Counter[int]:
    """The fault at every `stride`-th operation, each time on a new copy; how the processes ended."""
    copy, ended = start.with_name("copy"), Counter[int]()
    shutil.copytree(start, copy, dirs_exist_ok=True)
    before = spent_in(copy)
    at = 1
    while True:
        shutil.rmtree(copy)
        shutil.copytree(start, copy)
        done = disk.ask(copy, *REQUESTS, action=action, classes=classes, at=at, **named)
        ended[done.status] += 1
        assert done.status in (0, 1, -signal.SIGKILL), "an error of the disk is told as the ledger's own"
        check_after_fault(copy, done.released, before, ask)
        if done.status == 0 and done.counted < at:
            assert len(done.released) == 16 * len(REQUESTS)
            return ended
        at += stride


FAULTS = [
    (Action.FAIL, On.CHANGES, False),
    (Action.FAIL, On.CHANGES, True),
    (Action.FAIL, On.READS, False),
    (Action.SHORT, On.WRITES, False),
    (Action.SHORT, On.WRITES, True),
]


@pytest.mark.parametrize(("action", "classes", "again"), FAULTS)
def test_errors_of_the_disk(
    disk: faulty.Disk,
    starts: list[Path],
    ask: Ask,
    tally: Any,
    campaign: bool,
    action: Action,
    classes: On,
    again: bool,
) -> None:
    """Any operation reports an error once, or from then on; a write is cut short once, or from then on."""
    for number, start in enumerate(starts):
        ended = fault_everywhere(
            disk, start, ask, action, classes, stride=1 if campaign else 5 + 2 * number, again=again
        )
        tally(disk_faults=ended.total())
        assert ended[1] > 1 or (action, again) == (Action.SHORT, False), "the fault shows"


@pytest.mark.parametrize(("action", "classes"), [(Action.KILL_BEFORE, On.CHANGES), (Action.KILL_AMID, On.WRITES)])
def test_killed_at_operations_of_the_disk(
    disk: faulty.Disk, starts: list[Path], ask: Ask, tally: Any, campaign: bool, action: Action, classes: On
) -> None:
    """Killed before any write, sync or change of a name, and with any write half done."""
    for start in starts:
        ended = fault_everywhere(disk, start, ask, action, classes, stride=1 if campaign else 4)
        tally(kills=ended[-signal.SIGKILL])
        assert ended[-signal.SIGKILL] > (50 if campaign else 12)
        assert ended[0] == 1


def test_going_on_after_an_error_is_caught(disk: faulty.Disk, starts: list[Path], ask: Ask) -> None:
    with pytest.raises(AssertionError, match="released implies stored"):
        fault_everywhere(disk, starts[0], ask, Action.FAIL, On.CHANGES, stride=1, kind="GoesOnRegardless", again=True)


def test_answers_out_before_they_are_in_are_caught(disk: faulty.Disk, starts: list[Path], ask: Ask) -> None:
    with pytest.raises(AssertionError, match="released implies stored"):
        fault_everywhere(disk, starts[0], ask, Action.KILL_BEFORE, On.CHANGES, stride=1, kind="StoresLater")


def test_a_mark_written_by_half_is_caught(disk: faulty.Disk, starts: list[Path], ask: Ask) -> None:
    """Planted bug: how much of the anchor's mark was written is not looked at."""
    with pytest.raises((AssertionError, LedgerCorrupt), match=r"released implies anchored|anchor .* is damaged"):
        fault_everywhere(disk, starts[0], ask, Action.SHORT, On.WRITES, stride=1, kind="HalfAMark")


# A disk that lies: one write or sync is dropped, and success reported


def lose_everywhere(disk: faulty.Disk, start: Path, ask: Ask, *, stride: int) -> tuple[int, int]:
    """Each time one operation is lost; in how many cases the ledger was refused afterwards, and of how many."""
    copy, refused, at = start.with_name("copy"), 0, 1
    shutil.copytree(start, copy, dirs_exist_ok=True)
    before = spent_in(copy)
    while True:
        shutil.rmtree(copy)
        shutil.copytree(start, copy)
        done = disk.ask(copy, *REQUESTS, action=Action.LOSE, classes=On.WRITES | On.SYNCS, at=at)
        assert done.status in (0, 1), "a lost write is told as the ledger's own error"
        try:
            with Ledger.open(copy) as ledger:
                charged = ledger.balance("patients").spent.cost - before
                assert charged >= len(done.released) // 16 * PRICE, "more budget than the anchor allows"
                ledger.verify()
        except LedgerError:
            refused += 1
        else:
            with Ledger.open(copy) as ledger:
                answers = b"".join(ask(ledger, request) for request in REQUESTS)
                assert answers.startswith(done.released), "a retry returns the same bytes"
                assert ledger.balance("patients").spent.cost == before + len(REQUESTS) * PRICE, "charged once in all"
        if done.status == 0 and done.counted < at:
            return refused, at
        at += stride


def test_lost_writes(disk: faulty.Disk, starts: list[Path], ask: Ask, tally: Any, campaign: bool) -> None:
    for start in starts:
        refused, total = lose_everywhere(disk, start, ask, stride=1 if campaign else 2)
        tally(lost_writes=total if campaign else total // 2)
        assert 4 < refused < total / 2


def test_lost_writes_without_an_anchor_are_caught(
    disk: faulty.Disk, starts: list[Path], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: nobody looks at the anchor, so a lost commit goes unnoticed."""
    monkeypatch.setattr(journal.Journal, "hold_to", lambda *_: None)
    monkeypatch.setattr(anchor.Anchor, "advance", lambda _, mark, check: mark)
    with pytest.raises(AssertionError, match="a retry returns the same bytes"):
        lose_everywhere(disk, starts[0], ask, stride=1)
