from __future__ import annotations

import importlib.util
import os
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.ledger import Charge, Ledger
from dither.ledger.storage.schema import STATEMENTS

_spec = importlib.util.spec_from_file_location("ledger_unpack", Path(__file__).parent / "fixtures" / "unpack.py")
_loaded = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_loaded)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[int], Path]:
    """Ledgers of older versions.

    1: of the patients' 4 alice has 3 and bob 2, and a stranger was charged. 2: alice has 2 of the patients' 4; the
    staff is oversubscribed, and frozen; answers, a large one, a failure, incidents, a thaw, open reservations.
    """
    return lambda version: _loaded.unpack(version, tmp_path / f"version{version}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "clinic"


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    """People "patients" with epsilon 4; alice may spend 1 of it, and the curator itself the rest."""
    with Ledger.open(folder, create=True) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(4)), terms={"epsilon": "4"})
        ledger.open_account("patients", "alice", kind="pure", cap=Charge(Fraction(1)), terms={"epsilon": "1"})
        yield ledger


@pytest.fixture
def reserve() -> Callable[..., Any]:
    def reserve(ledger: Ledger, analyst: str | None = "alice", cost: str = "1/4", **changes: Any) -> Any:
        given = {"question": "q", "snapshot": "1", "plan": "{}", "request": None} | changes
        people = given.pop("people", "patients")
        delta = given.pop("delta", "0")
        return ledger.reserve(people, analyst, Charge(Fraction(cost), Fraction(delta)), **given)

    return reserve


@pytest.fixture
def ask(reserve: Callable[..., Any]) -> Callable[..., bytes]:
    """Reserve, draw fresh noise, settle: what a curator does."""

    def ask(ledger: Ledger, *given: Any, **changes: Any) -> bytes:
        reservation = reserve(ledger, *given, **changes)
        if reservation.answer is not None:
            return bytes(reservation.answer)
        return ledger.settle(reservation.id, os.urandom(16))

    return ask


@pytest.fixture
def edit() -> Callable[..., None]:
    """Someone who has the database file, but not the key, changes it and covers the tracks."""

    def edit(folder: Path, *statements: str) -> None:
        connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        triggers = [statement for statement in STATEMENTS if "TRIGGER" in statement]
        for trigger in triggers:
            connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
        for statement in statements:
            connection.execute(statement)
        for trigger in triggers:
            connection.execute(trigger)
        connection.close()

    return edit
