"""What a server keeps, on every database that can keep it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dither.errors import LedgerError, PolicyError
from dither.ledger.storage.files import Folder
from dither.server import database
from dither.server.database import copy_beside
from dither.server.store import JobRow, Store, TokenRow

TOKEN = TokenRow("t1", "analyst", "alice", "SCRAM", "", 1, 2, None)


def job(identity: str, principal: str = "analyst alice", made: int = 1) -> JobRow:
    return JobRow(identity, principal, "t1", "{}", "queued", None, made, 0)


def test_tokens(store: Store, opened: Callable[[], Store]) -> None:
    store.add_token(TOKEN)
    other = opened()
    assert other.token("t1") == TOKEN
    assert other.token("t2") is None
    assert not other.revoke_token("t2", 5)
    assert other.revoke_token("t1", 5)
    assert store.revoke_token("t1", 9)
    assert [row.revoked for row in store.tokens()] == [5]


def test_a_request_is_bound_once(store: Store, opened: Callable[[], Store]) -> None:
    other = opened()
    assert store.request("a", "r") is None
    assert store.bind("a", "r", b"one", "{}", 30) == b"one"
    assert other.bind("a", "r", b"two", "{}", 30) == b"one"
    assert other.bind("b", "r", b"two", "{}", 30) == b"two"
    assert other.request("a", "r") == (b"one", None, "{}")
    other.unbind("a", "r")
    assert store.request("a", "r") is None
    store.bind("a", "r", b"one", "{}", 30)
    assert store.keep("a", "r", "first", b"document") == "first"
    assert other.keep("a", "r", "second", b"another") == "first"
    assert other.answer("a", "first") == b"document"
    assert other.answer("a", "second") is None
    assert other.answer("b", "first") is None
    other.unbind("a", "r")
    assert store.request("a", "r") == (b"one", "first", "{}")
    store.bind("a", "large", b"", "{}", 30)
    assert store.keep("a", "large", "third", bytes(10**6)) == "third"
    assert other.answer("a", "third") == bytes(10**6)


def test_an_id_is_freed_by_the_last_of_its_attempts(store: Store, opened: Callable[[], Store]) -> None:
    other = opened()
    store.bind("a", "r", b"one", "{}", 30)
    other.bind("a", "r", b"one", "{}", 20)
    store.unbind("a", "r")
    assert other.request("a", "r") == (b"one", None, "{}")
    other.unbind("a", "r")
    assert other.request("a", "r") is None


def test_what_a_dead_process_had_in_hand_is_taken_by_one(store: Store, opened: Callable[[], Store]) -> None:
    other = opened()
    store.bind("a", "r", b"one", "body", 30)
    assert other.take_request("a", "r", 20, 60) is None  # it is still in hand
    store.renew_requests([("a", "r")], 40)
    assert other.take_request("a", "r", 35, 60) is None
    assert other.take_request("a", "r", 50, 90) == "body"
    assert store.take_request("a", "r", 60, 90) is None
    store.keep("a", "r", "first", b"document")
    assert store.take_request("a", "r", 100, 130) is None


def test_jobs(store: Store, opened: Callable[[], Store]) -> None:
    other = opened()
    assert store.add_job(job("a1"), 2)
    assert store.add_job(job("a2"), 2)
    assert not other.add_job(job("a3"), 2)
    assert other.add_job(job("b1", "analyst bob", 2), 2)
    assert other.job("analyst alice", "a1") == replace(job("a1"), came=1)
    assert other.job("analyst bob", "a1") is None
    taken = [at.take_job(10, 40).id for at in (store, other)]  # fair: bob's comes before alice's second
    assert taken == ["a1", "b1"]
    assert store.take_job(10, 40).id == "a2"
    assert store.take_job(10, 40) is None
    store.renew_jobs(["a1"], 100)
    assert {other.take_job(50, 90).id, other.take_job(50, 90).id} == {"a2", "b1"}
    assert other.take_job(50, 90) is None
    assert store.end_job("a1", "done", "{}")
    assert not other.end_job("a1", "cancelled", None, only="queued")
    assert other.job("analyst alice", "a1").state == "done"


def check_taken_once(opened: Callable[[], Store], jobs: int = 12) -> None:
    first = opened()
    for number in range(jobs):
        first.add_job(job(f"j{number:02}"), 100)
    taken: list[str] = []

    def work(store: Store) -> None:
        while (row := store.take_job(10, 40)) is not None:
            taken.append(row.id)

    threads = [Thread(target=work, args=(opened(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [f"j{number:02}" for number in range(jobs)]


def test_a_job_is_taken_by_one(opened: Callable[[], Store]) -> None:
    check_taken_once(opened)


def test_a_refused_change_undoes_no_other(store: Store) -> None:
    def refuse(connection: Any) -> None:
        connection.execute("INSERT INTO requests VALUES ('a', 'refused', ?, '', NULL, 1, 0)", (b"",))
        raise PolicyError("no")

    with pytest.raises(PolicyError):
        store._together.write(refuse)
    assert store.request("a", "refused") is None
    assert store.bind("a", "kept", b"x", "{}", 0) == b"x"


def test_another_format_is_refused(store: Store, opened: Callable[[], Store]) -> None:
    with store._transaction() as connection:
        if hasattr(connection, "space"):
            connection.execute("UPDATE format SET version = 7")
    if not hasattr(connection, "space"):
        store._database._connection.execute("PRAGMA user_version = 7")
    with pytest.raises(LedgerError, match="format"):
        opened()


def test_jobs_of_a_revoked_token_are_taken_back(store: Store, opened: Callable[[], Store]) -> None:
    store.add_token(TOKEN)
    for identity in ("a1", "a2"):
        store.add_job(job(identity), 9)
    other = JobRow("b1", "analyst bob", "t2", "{}", "queued", None, 9, 0)
    store.add_job(other, 9)
    assert store.take_job(10, 40).id == "a1"
    opened().revoke_token("t1", 5)
    assert store.job("analyst alice", "a1").state == "running"  # who runs it looks again when it ends
    assert store.job("analyst alice", "a2").state == "cancelled"
    assert store.take_job(10, 40).id == "b1"


def test_it_moves_along(tmp_path: Path, database: str) -> None:
    here = Store(tmp_path)
    here.add_token(TOKEN)
    here.bind("a", "r", b"one", "{}", 0)
    here.keep("a", "r", "first", b"document")
    here.add_job(job("a1"), 9)
    here.share("analyst alice", "s1", b"digest", "{}", 9)
    here.close()
    copy_beside(tmp_path, database)
    copy_beside(tmp_path, database)  # after a move that was cut short
    Folder(tmp_path).write_address(database)
    there = Store(tmp_path)
    assert there.token("t1") == TOKEN
    assert there.request("a", "r") == (b"one", "first", "{}")
    assert there.answer("a", "first") == b"document"
    assert there.job("analyst alice", "a1") == replace(job("a1"), came=1)
    assert there.shared("s1") == "{}"
    there.revoke_token("t1", 7)
    there.close()
    (tmp_path / "server.sqlite").unlink()
    copy_beside(tmp_path, "folder")
    (tmp_path / "ledger.address").unlink()
    back = Store(tmp_path)
    assert back.token("t1").revoked == 7
    back.close()


CLOSES = "import sys, pathlib; from dither.server.store import Store; Store(pathlib.Path(sys.argv[1])).close()"


def check_others_close(folder: Path) -> None:
    """Another process opens and closes the file, as the command line does: what is kept after that is there."""
    store = Store(folder)
    store.bind("a", "r", b"one", "{}", 30)
    subprocess.run([sys.executable, "-c", CLOSES, str(folder)], check=True)
    store.keep("a", "r", "first", b"document")
    other = Store(folder)
    assert other.request("a", "r") == (b"one", "first", "{}"), "what was kept is there"
    other.close()
    store.close()


def test_others_that_close_take_nothing_along(tmp_path: Path) -> None:
    check_others_close(tmp_path)


def test_planted_bug_the_file_is_opened_and_closed_beside_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = database._prepare

    def careless(connection: sqlite3.Connection) -> int:
        found = prepare(connection)
        os.close(os.open(tmp_path / "server.sqlite", os.O_RDWR))  # drops the locks of the whole process
        return found

    monkeypatch.setattr(database, "_prepare", careless)
    with pytest.raises((AssertionError, LedgerError)):
        check_others_close(tmp_path)


def check_writers_wait_in_turn(folder: Path) -> None:
    """Whoever writes waits where the system wakes it, and asks SQLite for nothing until then."""
    first, second = Store(folder), Store(folder)
    queue = folder / "server.sqlite-turn"

    def waits() -> bool:
        locks = Path("/proc/locks").read_text().splitlines()
        return any("->" in line and f":{queue.stat().st_ino} " in line for line in locks)

    writer = Thread(target=second.add_token, args=(TOKEN,))
    with first._database.transaction() as connection:
        writer.start()
        while writer.is_alive() and not (queue.exists() and waits()):
            time.sleep(0.01)
        alive = writer.is_alive()
        connection.execute("UPDATE tokens SET label = ''")
    writer.join()
    assert alive, "a writer does not queue"
    assert first.token("t1") == TOKEN
    first.close()
    second.close()


def test_writers_wait_in_turn(tmp_path: Path) -> None:
    check_writers_wait_in_turn(tmp_path)


def test_planted_bug_writers_ask_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **stated: connect(*given, **{**stated, "timeout": 1}))
    monkeypatch.setattr(database, "turn_at", lambda path: nullcontext())
    monkeypatch.setattr("threading.excepthook", lambda *_: None)  # it gives up
    with pytest.raises(AssertionError, match="does not queue"):
        check_writers_wait_in_turn(tmp_path)
