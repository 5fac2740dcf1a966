"""Threat 21: the power fails at any instant; of what was not yet synced, all, nothing, or any sectors are kept.

On a disk that keeps what it has synced, no charge is lost, no answer changes, and the ledger opens again.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import crash_faulty as faulty
import crash_power as power
import pytest

from dither.errors import LedgerError
from dither.ledger import Charge, Ledger, answers

PRICE = Fraction(1, 10)
Ask = Callable[..., bytes]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def place(fast: Path) -> Path:
    """A private folder in which a ledger lives."""
    (fast / "clinic").mkdir(mode=0o700)
    return fast / "clinic"


def check_image(folder: Path, released: list[bytes], ask: Ask) -> None:
    """What must hold for a ledger found after a power cut: all that left the process before is in it, and paid."""
    try:
        found = Ledger.open(folder, create=True)
    except LedgerError as error:
        raise AssertionError(f"refused after a power cut: {error}") from error
    with found as opened:
        for analyst in (None, "alice"):
            opened.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(9000)), terms={})
        opened.verify()
        charged = opened.balance("patients").spent.cost
        assert charged >= len(released) * PRICE, "released implies charged"
        retried = [ask(opened, f"r{number}") for number in range(len(released))]
        assert retried == released, "a retry returns the same bytes"
        assert opened.balance("patients").spent.cost == charged, "charged once in all"
        ask(opened, f"r{len(released)}")
        assert opened.balance("patients").spent.cost <= max(charged, (len(released) + 1) * PRICE), "charged once in all"
        opened.verify()


def cut_everywhere(
    disk: faulty.Disk, origin: Path, ask: Ask, *, cuts: int, kind: str = "Ledger", sessions: int = 3, **named: Any
) -> int:
    """Record processes that make a ledger, ask and close, then look at states a power cut may leave; how many."""
    platter, record = power.Platter.of(origin), origin.with_name("record")
    for session in range(sessions):
        requests = [f"r{2 * session + number}" for number in range(2)]
        done = disk.ask(origin, *requests, kind=kind, record=record, create=not session, **named)
        assert done.status == 0
    platter.folders[(origin / "answers").stat().st_ino] = str(origin / "answers")  # made since; not a recorded change
    history = power.changes(record)
    draw, image, released, seen = random.Random(7), origin.with_name("image"), list[bytes](), 0
    # Every instant with nothing kept, and as many with parts of it as asked for.
    states = [(number, "none") for number in range(len(history))]
    states += [(draw.randrange(len(history)), draw.choice(["some", "torn", "all"])) for _ in range(3 * len(history))]
    chosen = set(draw.sample(states, min(cuts, len(states))))
    for number, change in enumerate(history):
        for how in ("none", "some", "torn", "all"):
            if (number, how) in chosen:
                shutil.rmtree(image, ignore_errors=True)
                image.mkdir(mode=0o700)
                power.restore(platter.cut(how, draw), origin, image)
                check_image(image, released, ask)
                seen += 1
        platter.see(change)
        if change.kind == "!":
            released.append(change.content)
    assert len(released) == 2 * sessions
    return seen


def test_power_cuts(disk: faulty.Disk, place: Path, ask: Ask, tally: Any, campaign: bool) -> None:
    seen = cut_everywhere(disk, place, ask, cuts=10_000 if campaign else 90)
    tally(power_cuts=seen)
    assert seen > (400 if campaign else 60)


def test_power_cuts_with_large_answers(disk: faulty.Disk, place: Path, ask: Ask, tally: Any, campaign: bool) -> None:
    """Answers in files of their own."""
    size = answers.LARGEST_INLINE_ANSWER + 1
    seen = cut_everywhere(disk, place, ask, cuts=500 if campaign else 15, sessions=1, size=size)
    tally(power_cuts=seen)
    assert len(os.listdir(place / "answers")) == 2
    assert seen > 10


def test_commits_that_are_never_synced_are_caught(disk: faulty.Disk, place: Path, ask: Ask) -> None:
    with pytest.raises(AssertionError, match="refused after a power cut"):
        cut_everywhere(disk, place, ask, cuts=10_000, kind="NeverSyncs", sessions=1)


def test_answers_out_before_they_are_in_are_caught(disk: faulty.Disk, place: Path, ask: Ask) -> None:
    with pytest.raises(AssertionError, match="a retry returns the same bytes"):
        cut_everywhere(disk, place, ask, cuts=10_000, kind="StoresLater", sessions=1)
