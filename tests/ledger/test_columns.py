"""Every column of every table, edited without the key: what each edit gains, and where it is noticed.

Accounts, states and the newest entry at opening. What only points, or is proven when it is used: before it is returned,
and in any case by the full walk.
"""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dither.errors import LedgerCorrupt
from dither.ledger import Charge, Ledger, book
from dither.ledger.kinds import VERSION

# A table, a column, what it is set to, of which rows, and whether opening notices it.
EDITS = [
    ("accounts", "opened", "opened + 1", "opened = 3", True),
    ("accounts", "cap", "cap + 1", "opened = 2", True),
    ("accounts", "cap", "cap + 1", "opened = 11", True),
    ("accounts", "cap_delta", "cap_delta + 1", "opened = 11", True),
    ("accounts", "spent", "spent - 1", "opened = 2", True),
    ("accounts", "spent", "spent + 1", "opened = 3", True),
    ("accounts", "spent_delta", "spent_delta - 1", "opened = 11", True),
    ("reservations", "id", "id - 3", "id = 4", True),
    ("reservations", "id", "1", "id = 8", True),
    ("reservations", "question", "zeroblob(32)", "id = 4", False),
    ("reservations", "cost", "cost + 1", "id = 4", False),
    ("reservations", "delta", "delta + 1", "id = 4", False),
    ("reservations", "request", "NULL", "id = 4", False),
    ("reservations", "settled", "NULL", "id = 4", True),
    ("reservations", "settled", "11", "id = 4", True),
    ("reservations", "settled", "100 - settled", "id IN (4, 6)", True),
    ("reservations", "settled", "9", "id = 8", True),
    ("answers", "reservation", "8", "reservation = 4", False),
    ("answers", "content", "x'00'", "reservation = 4", False),
    ("stored", "analyst", "'bob'", "analyst = 'alice'", False),
    ("stored", "bytes", "bytes - 1", "analyst = 'alice'", False),
    ("entries", "sequence", "1000", "sequence = 6", True),
    ("entries", "version", "2", "sequence = 6", False),
    ("entries", "kind", "'fail'", "sequence = 7", False),
    ("entries", "body", "'{}'", "sequence = 6", False),
    ("entries", "state", "zeroblob(32)", "sequence = 6", False),
    ("entries", "mac", "zeroblob(32)", "sequence = 6", False),
    *(
        ("entries", column, value, "sequence = (SELECT max(sequence) FROM entries)", True)
        for column, value in (
            ("sequence", "1000"),
            ("version", "2"),
            ("kind", "'fail'"),
            ("body", "'{}'"),
            ("state", "zeroblob(32)"),
            ("mac", "zeroblob(32)"),
        )
    ),
    *(
        ("entries", column, value, f"kind = '{kind}'", True)
        for kind in ("incident", "freeze")
        for column, value in (("kind", "'event'"), ("body", "'{}'"), ("sequence", "1000 + sequence"))
    ),
]


@pytest.fixture
def filled(ledger: Ledger, folder: Path, ask: Any, reserve: Any) -> Path:
    """Entries 4 to 7: two answers; 8: open; 9, 10: a failure; 11: an account with delta; then an incident, a freeze."""
    ask(ledger, question="q0", request="r0")
    ask(ledger, question="q1", cost="1/8")
    reserve(ledger, question="q2", cost="1/8")
    ledger.fail(reserve(ledger, question="q3").id)
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4), Fraction(1, 1000)), terms={})
    late = reserve(ledger, None, "1/4", people="staff", delta="1e-6")
    ledger.settle(late.id, b"late")
    ledger.breaker.incident(late.id, "late", most=1)
    ledger.record("register", {"table": "visits"})
    ledger.close()
    return folder


def change(folder: Path, statement: str) -> None:
    """By somebody who has the database, and turns off whatever it would check."""
    if (folder / "ledger.address").exists():
        address = json.loads((folder / "ledger.address").read_text())["ledger"]
        for word, meant in {"zeroblob(32)": "decode(repeat('00', 32), 'hex')", "x'00'": "'\\x00'::bytea"}.items():
            statement = statement.replace(word, meant)
        with psycopg.connect(address, options="-c search_path=dither -c session_replication_role=replica") as database:
            assert database.execute(statement).rowcount >= 1
        return
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    assert connection.execute(statement).rowcount >= 1
    for _, text in triggers:
        connection.execute(text)
    connection.close()


def check_noticed(filled: Path, table: str, column: str, value: str, where: str, at_opening: bool) -> None:
    change(filled, f"UPDATE {table} SET {column} = {value} WHERE {where}")
    if at_opening:
        with pytest.raises(LedgerCorrupt):
            Ledger.open(filled)
        return
    with Ledger.open(filled) as ledger, pytest.raises(LedgerCorrupt):
        ledger.verify()


# Which of them are noticed is decided above the database, so that some of each table are enough for another one.
ON_BOTH = [("sqlite", *edit) for edit in EDITS] + [("postgres", *edit) for edit in EDITS[::5]]


@pytest.mark.parametrize(("store", "table", "column", "value", "where", "at_opening"), ON_BOTH)
def test_every_column(filled: Path, table: str, column: str, value: str, where: str, at_opening: bool) -> None:
    check_noticed(filled, table, column, value, where, at_opening)


def test_no_column_is_left_out(filled: Path) -> None:
    connection = sqlite3.connect(filled / "ledger.sqlite")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = {(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    assert {edit[:2] for edit in EDITS} == columns


@pytest.mark.parametrize("where", ["id = 4", "id = 6", "id = 8", "id = 9"])
def test_every_reservation_taken_out_is_noticed_at_opening(filled: Path, where: str) -> None:
    change(filled, f"DELETE FROM reservations WHERE {where}")
    with pytest.raises(LedgerCorrupt):
        Ledger.open(filled)


def test_planted_bug_states_that_nothing_commits_to(tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a commitment to what was spent and what is open, and to nothing else, as in version 2."""
    commitment = book.Book.commitment
    monkeypatch.setattr(book.Book, "commitment", lambda self, key, _: commitment(self, key, 2))
    with Ledger.open(tmp_path / "broken", create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(1)), terms={})
        ask(ledger, question="q0")
        ask(ledger, question="q1")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_noticed(tmp_path / "broken", "reservations", "settled", "100 - settled", "id IN (4, 6)", True)


def test_the_commitment_covers_caps() -> None:
    """Of accounts that differ in nothing else; that of version 2 did not, and trusted the entry alone."""
    books = []
    for cap in (Charge(Fraction(1)), Charge(Fraction(2)), Charge(Fraction(1), Fraction(1, 2))):
        made = book.Book()
        made.add(book.Account(2, "patients", None, "basic", cap, {}))
        books.append(made)
    assert len({made.commitment(bytes(32), VERSION) for made in books}) == 3
    assert len({made.commitment(bytes(32), 2) for made in books}) == 1
