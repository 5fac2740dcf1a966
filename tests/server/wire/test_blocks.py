"""BEGIN and its like hold nothing and refund nothing; portals and cursors read the stored answer."""

from __future__ import annotations

import struct
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.server.wire import blocks

BY_DAY = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"


@pytest.fixture
def said(alice: Any) -> list[str]:
    found: list[str] = []
    alice.add_notice_handler(lambda told: found.append(str(told.message_primary)))
    return found


def status(connection: Any) -> str:
    return str(connection.info.transaction_status.name)


def test_rollback_refunds_nothing_and_says_so(shared: places.Wired, alice: Any, said: list[str]) -> None:
    alice.execute("BEGIN")
    answer = alice.execute("SELECT COUNT(*) FROM visits WHERE age > 31").fetchall()
    spent = shared.spent()
    assert alice.execute("ROLLBACK").statusmessage == "ROLLBACK"
    assert said == [blocks._REFUNDS_NOTHING]
    assert "refunds nothing" in said[0]
    assert shared.spent() == spent
    assert alice.execute("SELECT COUNT(*) FROM visits WHERE age > 31").fetchall() == answer
    assert shared.spent() == spent
    said.clear()
    for text in ("BEGIN", "SELECT 1", "SELECT COUNT(*) FROM visits WHERE age > 31", "ROLLBACK"):
        alice.execute(text)
    assert said == []  # nothing was charged, so there is nothing to say


def test_a_failed_block(alice: Any) -> None:
    for end in ("COMMIT", "ROLLBACK", "END", "ABORT"):
        alice.execute("BEGIN")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            alice.execute("SELECT note FROM visits")
        assert status(alice) == "INERROR"
        for text in ("SELECT 1", "SET dither.epsilon = '1'", "SAVEPOINT a", "BEGIN"):
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                alice.execute(text)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            alice.execute("SELECT %s", [1])
        assert alice.execute(end).statusmessage == "ROLLBACK"
        assert status(alice) == "IDLE"


def test_settings_of_a_block(alice: Any) -> None:
    def epsilon() -> str:
        return str(alice.execute("SHOW dither.epsilon").fetchone()[0])

    alice.execute("BEGIN; SET LOCAL dither.epsilon = '2'")
    assert epsilon() == "2"
    alice.execute("COMMIT")
    assert epsilon() == "0.01"
    alice.execute("BEGIN; SET dither.epsilon = '3'; ROLLBACK")
    assert epsilon() == "0.01"
    alice.execute("BEGIN; SET dither.epsilon = '0.02'; COMMIT")
    assert epsilon() == "0.02"
    alice.execute("BEGIN; SAVEPOINT a; SET dither.epsilon = '4'; SAVEPOINT b; SET LOCAL dither.epsilon = '5'")
    assert epsilon() == "5"
    alice.execute("ROLLBACK TO SAVEPOINT b")
    assert epsilon() == "4"
    alice.execute("ROLLBACK TO a; RELEASE SAVEPOINT a; COMMIT")
    assert epsilon() == "0.02"
    alice.execute("SET LOCAL dither.epsilon = '6'")  # outside a block it has no effect
    assert epsilon() == "0.02"


def test_resetting_is_going_back_to_what_was_stated_at_the_start(shared: places.Wired) -> None:
    """So a cap that a pool's options state is still there for whoever uses the connection next."""
    with shared.connect(options="-c dither.epsilon=0.01 -c dither.session_budget=0.015") as connection:
        local = "BEGIN; SET LOCAL dither.session_budget = '9'; SET LOCAL dither.session_budget TO DEFAULT"
        default = "SET dither.session_budget TO DEFAULT"
        for text in ("RESET ALL", "DISCARD ALL", "RESET dither.session_budget", default, local):
            connection.execute(text)
            assert connection.execute("SHOW dither.session_budget").fetchone() == ("0.015",), text
        connection.execute("COMMIT")
        connection.execute("SET dither.epsilon = ''; SET dither.error = '100'")
        assert connection.execute("SHOW dither.epsilon").fetchone() == ("",), "none, as long as it is set to nothing"
        assert connection.execute("EXPLAIN SELECT COUNT(*) FROM visits").fetchall()
        connection.execute("RESET dither.epsilon")
        with pytest.raises(psycopg.Error, match="two prices"):
            connection.execute("SELECT COUNT(*) FROM visits")


def test_savepoints_end_a_failure(alice: Any) -> None:
    with alice.transaction():
        with pytest.raises(psycopg.Error), alice.transaction():
            alice.execute("nonsense")
        assert alice.execute("SELECT 1").fetchone() == (1,)
    alice.execute("BEGIN")
    with pytest.raises(psycopg.errors.InvalidSavepointSpecification):
        alice.execute("ROLLBACK TO nosuch")
    alice.execute("ROLLBACK")


@pytest.mark.parametrize(
    "text",
    ["BEGIN nonsense", "START TRANSACTION READ nonsense", "COMMIT SELECT 1", "COMMIT PREPARED 'a'", "END AND",
     "ROLLBACK nonsense", "ROLLBACK TO", "ROLLBACK TO SAVEPOINT a b", "ROLLBACK PREPARED 'a'", "SAVEPOINT",
     "SAVEPOINT 'a'", "RELEASE", "RELEASE a b"],
)  # fmt: skip
def test_what_is_none_of_these_ends_and_begins_nothing(alice: Any, text: str) -> None:
    alice.execute("BEGIN; SAVEPOINT a")
    with pytest.raises(psycopg.errors.SyntaxError):
        alice.execute(text)
    assert status(alice) == "INERROR"
    alice.execute("ROLLBACK TO a; COMMIT")
    assert status(alice) == "IDLE"


def test_a_block_may_be_followed_by_another(alice: Any) -> None:
    alice.execute("BEGIN WORK; SET dither.epsilon = '3'; COMMIT AND CHAIN; SET dither.epsilon = '4'")
    assert status(alice) == "INTRANS"
    alice.execute("ROLLBACK AND CHAIN")
    assert status(alice) == "INTRANS"
    assert alice.execute("SHOW dither.epsilon").fetchone() == ("3",)
    alice.execute("ROLLBACK WORK AND NO CHAIN")
    assert status(alice) == "IDLE"


def test_formats_that_do_not_fit_are_refused_before_the_charge(shared: places.Wired) -> None:
    before = shared.spent()
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'\0"))
        client.until(b"Z")
        client.send(message(b"P", b"\0SELECT COUNT(*) FROM visits WHERE age > 33\0\0\0"))
        client.send(message(b"B", b"\0\0" + struct.pack("!hhhhh", 0, 0, 2, 0, 1)) + message(b"E", b"\0\0\0\0\0"))
        assert client.fields(client.until(b"E")[-1][1])["C"] == "08P01"
    assert shared.spent() == before


def test_a_block_holds_no_lock(tmp_path_factory: pytest.TempPathFactory) -> None:
    """While one is open, its table can be refreshed and dropped."""
    with places.wired(tmp_path_factory.mktemp("locks")) as clinic, clinic.connect() as connection:
        connection.execute("BEGIN; SET dither.epsilon = '0.01'")
        connection.execute("SELECT COUNT(*) FROM visits")
        clinic.curator.refresh("visits", places.visits(50))
        connection.execute("SELECT COUNT(*) FROM visits")
        clinic.curator.drop("visits")
        with pytest.raises(psycopg.Error) as gone:
            connection.execute("SELECT COUNT(*) FROM visits")
        assert gone.value.sqlstate == "42P01"


def test_a_portal_is_read_in_parts_and_charged_once(shared: places.Wired, alice: Any) -> None:
    whole = alice.execute(BY_DAY).fetchall()
    spent = shared.spent()
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'; BEGIN\0"))
        client.until(b"Z")
        client.send(message(b"P", b"\0" + BY_DAY.encode() + b"\0\0\0") + message(b"B", b"p\0\0\0\0\0\0\0\0"))
        counts = []
        for _ in range(4):
            client.send(message(b"E", b"p\0\0\0\0\x0a") + message(b"S"))
            found = [kind for kind, _ in client.until(b"Z") if kind in b"DsC"]
            counts.append((found.count(b"D"), found[-1]))
        assert counts == [(10, b"s"), (10, b"s"), (9, b"C"), (0, b"C")]
        client.send(message(b"Q", b"COMMIT\0"))
        client.until(b"Z")
        client.send(message(b"E", b"p\0\0\0\0\0") + message(b"S"))  # portals end with their block
        assert client.fields(client.until(b"Z")[0][1])["C"] == "34000"
    assert len(whole) == 29
    assert shared.spent() == spent


def test_cursors(shared: places.Wired, alice: Any) -> None:
    whole = alice.execute(BY_DAY).fetchall()
    spent = shared.spent()
    with alice.transaction(), alice.cursor("days") as cursor:
        cursor.itersize = 7
        cursor.execute(BY_DAY)
        assert [column.name for column in cursor.description] == ["day", "n"]
        assert cursor.fetchmany(3) + list(cursor) == whole
    assert shared.spent() == spent
    alice.execute("BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT 1 AS one")
    assert alice.execute("FETCH c").fetchall() == [(1,)]
    assert alice.execute("FETCH ALL FROM c").fetchall() == []
    alice.execute("CLOSE c; COMMIT")
    with alice.transaction(), pytest.raises(psycopg.errors.FeatureNotSupported):
        alice.execute("DECLARE c SCROLL CURSOR FOR SELECT 1")


def test_what_pools_send_between_uses(alice: Any) -> None:
    alice.execute("SELECT %s", [1], prepare=True)
    alice.execute("SET dither.epsilon = '3'; SET dither.error = '3'")
    assert alice.execute("DISCARD ALL").statusmessage == "DISCARD ALL"
    assert alice.execute("SHOW dither.epsilon").fetchone() == ("0.01",), "as the connection was begun"
    assert alice.execute("SHOW dither.error").fetchone() == ("",)
    for text in ("DEALLOCATE ALL", "UNLISTEN *", "CLOSE ALL", "RESET ALL",
                 "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                 "SET search_path TO public, pg_catalog", "SET TIME ZONE 'UTC'", "SET NAMES 'UTF8'",
                 "START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT"):  # fmt: skip
        alice.execute(text)
    assert alice.execute("SHOW search_path").fetchone() == ("public, pg_catalog",)
