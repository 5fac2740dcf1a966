"""Tables that an older server has made are brought up, all at once or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerError
from dither.ledger.storage.files import Folder
from dither.server import database
from dither.server.store import Store, TokenRow

TOKEN = TokenRow("t1", "analyst", "alice", "SCRAM", "", 1, 2, None)

FORMAT_1 = """
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT, verifier TEXT NOT NULL, label TEXT NOT NULL,
    made INTEGER NOT NULL, until INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE requests (
    principal TEXT NOT NULL, request TEXT NOT NULL, digest BLOB NOT NULL, answer TEXT,
    PRIMARY KEY (principal, request)
) STRICT, WITHOUT ROWID;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, token TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL,
    result TEXT, made INTEGER NOT NULL, lease INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, made);
CREATE TABLE answers (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, made INTEGER NOT NULL, document BLOB NOT NULL
) STRICT;
INSERT INTO tokens VALUES ('t1', 'analyst', 'alice', 'SCRAM', '', 1, 2, NULL);
INSERT INTO requests VALUES ('a', 'answered', x'6f6e65', 'first'), ('a', 'open', x'74776f', NULL);
INSERT INTO answers VALUES ('first', 'a', 1, x'646f63');
INSERT INTO jobs VALUES ('b', 'a', 't1', '', 'queued', NULL, 5, 0), ('a', 'a', 't1', '', 'queued', NULL, 6, 0);
PRAGMA user_version = 1;
"""


def check_queue(store: Store) -> None:
    """Jobs that waited wait in their order, before whatever comes."""
    assert [row[0] for row in store._read("SELECT id FROM jobs WHERE state = 'queued' ORDER BY came")] == ["b", "a"]
    assert store.shared("s") is None


def check_format_1(folder: Path) -> None:
    """Tokens, answers and the ids that have one are there; others are free, as a charge under one is in the ledger."""
    store = Store(folder)
    assert store.token("t1") == TOKEN
    assert store.request("a", "answered") == (b"one", "first", "")
    assert store.answer("a", "first") == b"doc"
    assert store.request("a", "open") is None
    assert store.bind("a", "answered", b"two", "{}", 30) == b"one"
    assert store.bind("a", "open", b"two", "{}", 30) == b"two"
    store.unbind("a", "open")
    check_queue(store)
    store.close()


def old(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "server.sqlite")) as connection:
        connection.executescript(FORMAT_1)
    return folder


def test_a_file_of_format_1_is_brought_up(tmp_path: Path) -> None:
    check_format_1(old(tmp_path))
    check_format_1(tmp_path)


@pytest.mark.parametrize(("format", "steps"), [("_FROM_FORMAT_1", 4), ("_FROM_FORMAT_2", 10)])
def test_a_change_of_format_that_breaks_off_is_none(
    tmp_path: Path, format: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(tmp_path)
    for step in range(steps):
        check_broken_off(tmp_path, format, step, monkeypatch)
    check_format_1(tmp_path)


def check_broken_off(folder: Path, format: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = getattr(database, format)
    monkeypatch.setattr(database, format, (*statements[: step + 1], "SELECT no_such_function()"))
    with pytest.raises(LedgerError, match="cannot be used"):
        Store(folder)
    monkeypatch.undo()


JOBS = "', 'a', 't1', '', 'queued', NULL, "


def test_tables_of_format_2_in_postgresql_are_brought_up(tmp_path: Path, database: str) -> None:
    Folder(tmp_path).write_address(database)
    store = Store(tmp_path)
    with store._transaction() as connection:
        connection.execute("DROP TABLE shared")
        for index in ("answers_of_one", "requests_by_answer"):
            connection.execute(f"DROP INDEX {index}")
        connection.execute("ALTER TABLE answers DROP COLUMN free")
        for column in ("came", "begun"):
            connection.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        connection.execute(f"INSERT INTO jobs VALUES ('b{JOBS}5, 0), ('a{JOBS}6, 0)")
        connection.execute("UPDATE format SET version = 2")
    store.close()
    for _ in range(2):
        again: Any = Store(tmp_path)
        check_queue(again)
        again.close()
