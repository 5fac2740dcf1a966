from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dither.ledger import Charge, Ledger
from dither.ledger.storage.postgres.place import Database
from dither.ledger.storage.postgres.session import translated
from dither.ledger.storage.schema import OLDER

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


# What every store must do alike.
BOTH = ("accounts", "answers", "breaker", "caps", "desk", "journal", "shared_commits", "stored_bytes", "verify")


def _names(stated: str | tuple[str, ...]) -> tuple[str, ...]:
    return (stated,) if isinstance(stated, str) else stated


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The tests of what every store must do run on each of them."""
    stated = [name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])]
    if "store" in metafunc.fixturenames and "store" not in stated:
        both = metafunc.module.__name__.rpartition("test_")[2] in BOTH
        metafunc.parametrize("store", ["sqlite", "postgres"] if both else ["sqlite"])


@pytest.fixture
def folder(tmp_path: Path, store: str, request: pytest.FixtureRequest) -> Path:
    """Where a ledger is made, in the folder or in a database of which the folder has the address."""
    folder = tmp_path / "clinic"
    if store == "postgres":
        place = Database(folder, request.getfixturevalue("database"))
        place.prepare()
        place.close()
    return folder


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


def as_first_layout(folder: Path) -> None:
    """The tables as the first layout left them."""
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    connection.execute("DROP TABLE stored")
    connection.execute("DROP INDEX entries_of_the_book")
    connection.execute("DROP INDEX entries_events")
    connection.execute("DROP TRIGGER accounts_no_update")
    connection.execute(next(statement for statement in OLDER[1] if " accounts_no_update " in statement))
    connection.execute("PRAGMA user_version = 1")
    connection.close()


@pytest.fixture
def first_layout() -> Callable[[Path], None]:
    return as_first_layout


@pytest.fixture
def edit() -> Callable[..., None]:
    """Someone who has the database file, but not the key, changes it and covers the tracks."""

    def edit(folder: Path, *statements: str) -> None:
        if (folder / "ledger.address").exists():
            with psycopg.connect(json.loads((folder / "ledger.address").read_text())["ledger"]) as database:
                database.execute("SET search_path = dither; SET session_replication_role = replica")
                for statement in statements:
                    database.execute(translated(statement))
            return
        connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        found = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        triggers = [statement for (statement,) in found]
        for trigger in triggers:
            connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
        for statement in statements:
            connection.execute(statement)
        for trigger in triggers:
            connection.execute(trigger)
        connection.close()

    return edit
