"""What one connection may make the server hold: tokens, parameters, prepared statements, rows of cursors."""

from __future__ import annotations

import struct
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.server.wire import portal, session, statements
from dither.server.wire.sqlstates import WireError

BY_DAY = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"


def test_texts_of_too_many_tokens_are_refused() -> None:
    for text in ("(" * 500_000, "/**/" * 100_000, "x " * 200_000):
        with pytest.raises(WireError, match="too long"):
            statements.statements(text)


def check_bound() -> None:
    (statement,) = statements.statements("SELECT " + ", ".join(["$1"] * 2000))
    with pytest.raises(WireError) as refused:
        statement.bound({1: "'" + "x" * 10_000 + "'"})
    assert refused.value.state == "54001"


def test_a_parameter_that_stands_often_is_bounded() -> None:
    check_bound()


def test_planted_bug_parameters_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MOST_BOUND", 2**40)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_bound()


def test_as_many_parameters_as_the_protocol_has(shared: places.Wired) -> None:
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'\0"))
        client.until(b"Z")
        text = b"\0SELECT COUNT(*) FROM visits WHERE note = $65535\0\0\0"
        client.send(message(b"P", text) + message(b"D", b"S\0") + message(b"S"))
        told = dict(client.until(b"Z"))
    assert b"E" not in told
    assert struct.unpack("!H", told[b"t"][:2]) == (65535,)


def prepared(clinic: places.Wired) -> list[str]:
    """The SQLSTATEs of preparing four statements of 1,000 characters, each under a name of its own; "" for none."""
    found = []
    with RawClient(clinic.listener.port) as client:
        client.login(*clinic.user("alice"))
        for number in range(4):
            text = f"s{number}\0SELECT '{'x' * 1000}'\0".encode() + struct.pack("!h", 0)
            client.send(message(b"P", text) + message(b"S"))
            errors = [client.fields(content)["C"] for kind, content in client.until(b"Z") if kind == b"E"]
            found.append("".join(errors))
    return found


def test_prepared_texts_are_bounded(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared(shared) == [""] * 4
    monkeypatch.setattr(session, "MOST_PREPARED_BYTES", 2500)
    assert prepared(shared) == ["", "", "53400", "53400"]


def check_cursors(shared: places.Wired, alice: Any) -> None:
    """Nothing is charged for what is refused, and closing one makes room."""
    alice.execute("BEGIN")
    for name, price in (("one", "0.01"), ("two", "0.02")):
        alice.execute(f"SET dither.epsilon = '{price}'")
        alice.execute(f"DECLARE {name} CURSOR FOR {BY_DAY}")
    assert len(alice.execute("FETCH 3 FROM one").fetchall()) == 3
    before = shared.spent()
    alice.execute("SAVEPOINT here")
    with pytest.raises(psycopg.Error) as refused:
        alice.execute("FETCH 3 FROM two")
    assert refused.value.sqlstate == "53400"
    assert shared.spent() == before
    alice.execute("ROLLBACK TO here")
    alice.execute("CLOSE one")
    assert len(alice.execute("FETCH 3 FROM two").fetchall()) == 3


def test_rows_of_cursors_are_bounded(shared: places.Wired, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portal, "MOST_HELD", 10)
    check_cursors(shared, alice)


def test_planted_bug_cursors_without_bound(shared: places.Wired, alice: Any) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_cursors(shared, alice)
