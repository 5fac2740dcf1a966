"""Cancelling: the client goes on at once, and what was charged is there to be read."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient

from dither.server.questions import Questions
from dither.server.wire.cancelling import Cancels

TEXT = "SELECT COUNT(*) FROM visits WHERE age > 61"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Questions wait, after they were charged, until they are let go."""
    asked, begun, go = Questions.asked, threading.Event(), threading.Event()

    def waiting(self: Questions, *given: Any) -> str:
        found = asked(self, *given)
        begun.set()
        assert go.wait(60)
        return found

    monkeypatch.setattr(Questions, "asked", waiting)
    yield begun, go
    go.set()


def test_a_cancelled_question_stays_charged_and_is_free_again(shared: places.Wired, slow: Any) -> None:
    begun, go = slow
    before = shared.spent()
    with shared.connect(options="-c dither.epsilon=0.01 -c dither.session_budget=0.015") as connection:
        outcome: list[Any] = []

        def ask() -> None:
            try:
                outcome.append(connection.execute(TEXT).fetchall())
            except psycopg.Error as error:
                outcome.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(60)
        connection.cancel_safe()
        asking.join(60)
        assert isinstance(outcome[0], psycopg.errors.QueryCanceled)
        spent = shared.spent()
        assert spent != before
        go.set()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):  # the connection's own budget counts it
            connection.execute(TEXT)
        connection.execute("SET dither.session_budget = ''")
        assert len(connection.execute(TEXT).fetchall()) == 1
        assert shared.spent() == spent


def test_only_who_has_the_key_cancels(shared: places.Wired, slow: Any) -> None:
    begun, go = slow
    with shared.connect(options="-c dither.epsilon=0.01") as connection:
        asking = threading.Thread(target=lambda: connection.execute(f"{TEXT} AND age < 80"))
        asking.start()
        assert begun.wait(60)
        (key,) = shared.listener._connections
        for wrong in (bytes(8), key[:4] + bytes(4), bytes(4) + key[4:]):
            with RawClient(shared.listener.port) as other:
                other.send(b"\0\0\0\x10\x04\xd2\x16\x2e" + wrong)
                assert other.until() == []
        assert asking.is_alive()
        go.set()
        asking.join(60)
        assert not asking.is_alive()


def test_other_processes_hear_it(tmp_path: Any) -> None:
    """Whichever process the request comes to; those that have died are no trouble."""
    heard: list[bytes] = []
    arrived = threading.Event()

    def cancel(key: bytes) -> None:
        heard.append(key)
        arrived.set()

    cancels = Cancels(tmp_path, cancel)
    (tmp_path / "1").touch()
    (tmp_path / str(cancels._own.name)).rename(tmp_path / "other")
    cancels.send(b"12345678")
    assert arrived.wait(60)
    assert heard == [b"12345678"]
    cancels.close()
