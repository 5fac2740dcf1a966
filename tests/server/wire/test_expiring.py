"""A token that ends while a connection is open ends it, and charges nothing that waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.ledger import ledger
from dither.ledger.storage.leave import always
from dither.server.wire.connection import Connection

COUNT = "SELECT COUNT(*) FROM visits"


def expire(clinic: places.Wired, who: str) -> None:
    """Its time has come, by the clock."""
    with clinic.store._transaction() as connection:
        connection.execute("UPDATE tokens SET until = 1 WHERE id = ?", (clinic.made[who].split("_")[1],))


class Late:
    """An engine that has a place for a question only once its token has expired."""

    def __init__(self, clinic: places.Wired) -> None:
        self._clinic, self._engine = clinic, clinic.curator._engine

    def place(self, *asked: Any) -> Any:
        expire(self._clinic, "alice")
        return self._engine.place(*asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def test_a_connection_ends_with_its_token(tmp_path: Path) -> None:
    with places.wired(tmp_path) as clinic, clinic.connect(options="-c dither.epsilon=0.01") as connection:
        connection.execute(COUNT)
        before = clinic.spent()
        expire(clinic, "alice")
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(f"{COUNT} WHERE age > 5")
        assert refused.value.sqlstate == "28000"
        assert connection.closed
        with pytest.raises(psycopg.OperationalError):
            clinic.connect()
        assert clinic.spent() == before


def check_portal(folder: Path) -> None:
    """A part of the answer was read; the rest is not told any more."""
    with places.wired(folder) as clinic, RawClient(clinic.listener.port) as client:
        client.login(*clinic.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'; BEGIN\0"))
        client.until(b"Z")
        text = b"\0SELECT day, COUNT(*) AS n FROM visits GROUP BY day\0\0\0"
        client.send(message(b"P", text) + message(b"B", b"p\0\0\0\0\0\0\0\0"))
        client.send(message(b"E", b"p\0\0\0\0\x0a") + message(b"S"))
        assert [kind for kind, _ in client.until(b"Z")].count(b"D") == 10
        expire(clinic, "alice")
        client.send(message(b"E", b"p\0\0\0\0\0") + message(b"S"))
        found = client.until(b"Z")
        assert [kind for kind, _ in found] == [b"E"], "the rest is not told"
        assert client.fields(found[0][1])["C"] == "28000"
        assert client.read() is None


def test_the_rest_of_a_portal_is_not_told(tmp_path: Path) -> None:
    check_portal(tmp_path)


def test_planted_bug_only_what_is_run_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "check_token", lambda _: None)
    with pytest.raises(AssertionError, match="the rest is not told"):
        check_portal(tmp_path)


def check_waiting(folder: Path) -> None:
    with places.wired(folder) as clinic, clinic.connect(options="-c dither.epsilon=0.01") as connection:
        clinic.curator._engine = Late(clinic)  # type: ignore[assignment]
        before = clinic.spent()
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(COUNT)
        assert refused.value.sqlstate == "28000"
        assert connection.closed
        assert clinic.spent() == before, "nothing is charged"


def test_what_waits_uncharged_stays_so(tmp_path: Path) -> None:
    check_waiting(tmp_path)


def test_planted_bug_a_charge_without_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "leave_now", lambda: always)
    with pytest.raises(AssertionError, match="nothing is charged"):
        check_waiting(tmp_path)
