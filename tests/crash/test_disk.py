"""Threat 21: a disk that refuses writes, at any byte, loses no charge and releases nothing that was not charged."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerError
from dither.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Ask = Callable[..., bytes]
Release = Callable[[bytes], object]
PRICE = Fraction(1, 10)


def check_failing_writes(kind: type[Ledger], clinic: Path, ask: Ask, in_child: Any, limits: range) -> int:
    """Each time a process asks on until no file may grow past a limit; how often that stopped it."""
    stopped = 0
    for limit in limits:
        with kind.open(clinic) as ledger:
            before = ledger.balance("patients").spent.cost

        def work(release: Release, limit: int = limit) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            ledger = kind.open(clinic)
            for number in range(2):
                release(ask(ledger, f"{limit} {number}", price=PRICE / 1000))

        released, status = in_child(work).ended()
        stopped += status != 0
        with kind.open(clinic) as ledger:
            ledger.verify()
            charged = (ledger.balance("patients").spent.cost - before) / (PRICE / 1000)
            assert charged >= len(released) // 16, "released implies charged"
            answers = [ask(ledger, f"{limit} {number}", price=PRICE / 1000) for number in range(2)]
            assert b"".join(answers).startswith(released), "a retry returns the same bytes"
            assert ledger.balance("patients").spent.cost == before + 2 * PRICE / 1000, "charged once in all"
    return stopped


def test_no_charge_is_lost_when_writes_fail(clinic: Path, ask: Ask, in_child: Any, campaign: bool) -> None:
    limits = range(33_000, 90_000, 101 if campaign else 1499)
    assert check_failing_writes(Ledger, clinic, ask, in_child, limits) > len(limits) // 3


class GoesOnRegardless(Ledger):
    """Planted bug: an error of the disk is passed over, and the answer released all the same."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        try:
            return super().settle(reservation_id, answer)
        except LedgerError:
            return answer


def test_going_on_regardless_is_caught(clinic: Path, ask: Ask, in_child: Any) -> None:
    with pytest.raises(AssertionError, match="a retry returns the same bytes"):
        check_failing_writes(GoesOnRegardless, clinic, ask, in_child, range(33_000, 90_000, 499))


def test_an_exhausted_budget_needs_no_disk(clinic: Path, ask: Ask) -> None:
    with Ledger.open(clinic) as ledger:
        ask(ledger, price=Fraction(1))
        size = (clinic / "ledger.sqlite-wal").stat().st_size
        for _ in range(50):
            with pytest.raises(BudgetExceeded):
                ask(ledger)
        assert (clinic / "ledger.sqlite-wal").stat().st_size == size
