from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.ledger import Charge, Ledger
from dither.ledger.schema import STATEMENTS


def unpack(version: int, folder: Path) -> Path:
    """A ledger as a dither of that version wrote it."""
    written = json.loads((Path(__file__).with_name("fixtures") / f"version{version}.json").read_text(encoding="utf-8"))
    (folder / "answers").mkdir(mode=0o700, parents=True)
    folder.chmod(0o700)
    slots = [bytes.fromhex(slot).ljust(4096, b"\0") for slot in written["anchor"]]
    files = {"ledger.key": bytes.fromhex(written["key"]), "ledger.anchor": b"".join(slots)}
    files |= {f"answers/{name}": bytes.fromhex(content) for name, content in written.get("answers", {}).items()}
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    for statement in written["schema"]:
        connection.execute(statement)
    for table, rows in written["rows"].items():
        for row in rows:
            values = [bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for value in row]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    connection.execute(f"PRAGMA application_id = {written['application_id']}")
    connection.execute(f"PRAGMA user_version = {written['user_version']}")
    connection.close()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name in ("ledger.sqlite", *files):
        (folder / name).chmod(0o600)
    return folder


@pytest.fixture
def written(tmp_path: Path) -> Callable[[int], Path]:
    """Ledgers of older versions.

    1: of the patients' 4 alice has 3 and bob 2, and a stranger was charged. 2: alice has 2 of the patients' 4; the
    staff is oversubscribed, and frozen; answers, a large one, a failure, incidents, a thaw, open reservations.
    """
    return lambda version: unpack(version, tmp_path / f"version{version}")


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
