"""Questions over the wire: priced by what is set, charged once, described for nothing."""

from __future__ import annotations

import datetime
import re
import struct
from contextlib import suppress
from decimal import Decimal
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.errors import CapMissing, DitherError, PeopleFrozen, UnsupportedQuery
from dither.ledger.officer.refusals import AccountClosed, AnalystFrozen
from dither.server.wire.settings import Settings
from dither.server.wire.sqlstates import report_of

COUNT = "SELECT COUNT(*) FROM visits"
BY_DAY = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"


def state_of(connection: Any, text: str, parameters: Any = None) -> tuple[str, Any]:
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(text, parameters)
    return str(refused.value.sqlstate), refused.value.diag


def test_there_is_no_price_by_default(shared: places.Wired) -> None:
    before = shared.spent()
    with shared.connect() as connection:
        for text in (COUNT, f"EXPLAIN {COUNT}"):
            state, told = state_of(connection, text)
            assert state == "55000"
            assert "SET dither.epsilon" in told.message_hint
        connection.execute("SET dither.epsilon = '0.01'")
        connection.execute("SET dither.error = '100'")
        assert state_of(connection, COUNT)[0] == "55000"  # two prices
        connection.execute("RESET dither.error")
        assert connection.execute("SHOW dither.epsilon").fetchone() == ("0.01",)
    assert shared.spent() == before


def test_a_repeat_is_free_and_the_same(shared: places.Wired, alice: Any) -> None:
    text = "SELECT COUNT(*) FROM visits WHERE age > 11"
    first = alice.execute(text).fetchall()
    spent = shared.spent()
    assert alice.execute(text).fetchall() == first
    assert alice.execute("SELECT COUNT(*) FROM visits WHERE age > %s", [11]).fetchall() == first
    assert alice.execute("SELECT COUNT(*) FROM visits WHERE age > %s", ["11"], binary=True).fetchall() == first
    assert alice.execute(text, prepare=True).fetchall() == first
    assert shared.spent() == spent


def test_describing_and_explaining_never_charge(shared: places.Wired, alice: Any) -> None:
    before = shared.spent()
    lines = [line for (line,) in alice.execute(f"EXPLAIN {BY_DAY}")]
    assert any("epsilon 0.01" in line for line in lines)
    assert any("±" in line or "off" in line or "error" in line.lower() for line in lines)
    ((document,),) = alice.execute(f"EXPLAIN (FORMAT JSON) {BY_DAY}").fetchall()
    assert '"price"' in document
    assert state_of(alice, f"EXPLAIN ANALYZE {COUNT}")[0] == "0A000"
    assert state_of(alice, f"EXPLAIN (ANALYZE) {COUNT}")[0] == "0A000"
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'\0"))
        client.until(b"Z")
        text = b"SELECT region, COUNT(*) FROM visits WHERE age > $1 AND region = $2 GROUP BY 1"
        client.send(message(b"P", b"asked\0" + text + b"\0\0\0") + message(b"D", b"Sasked\0") + message(b"S"))
        parsed, types, columns, _ = client.until(b"Z")
    assert (parsed[0], types, columns[0]) == (b"1", (b"t", struct.pack("!hII", 2, 1700, 25)), b"T")
    assert columns[1].startswith(struct.pack("!h", 2) + b"region\0" + struct.pack("!ihih", 0, 0, 25, -1))
    assert b"count\0" + struct.pack("!ihih", 0, 0, 20, 8) in columns[1]
    assert shared.spent() == before


def test_parameters_of_every_type(shared: places.Wired, alice: Any) -> None:
    text = (
        "SELECT region, COUNT(*) AS n, SUM(fee) AS fees, AVG(age) AS years FROM visits WHERE age >= %s AND fee < %s "
        "AND day >= %s AND at < %s AND ok = %s AND region <> %s AND age < %s GROUP BY region"
    )
    given = [5, Decimal("99.5"), datetime.date(2024, 1, 1), datetime.datetime(2024, 6, 1), True, "south", 100.5]
    rows = alice.execute(text, given).fetchall()
    spent = shared.spent()
    assert alice.execute(text, given, binary=True).fetchall() == rows
    with alice.cursor(binary=True) as cursor:
        assert cursor.execute(text.replace("%s", "%b"), given).fetchall() == rows
    literal = text % (5, "99.5", "DATE '2024-01-01'", "TIMESTAMP '2024-06-01 00:00:00'", "TRUE", "'south'", "100.5")
    assert alice.execute(literal).fetchall() == rows
    assert shared.spent() == spent
    (region, count, fees, years) = rows[0]
    assert [type(value) for value in (region, count, fees, years)] == [str, int, Decimal, float]


def test_between_and_untyped_texts(alice: Any) -> None:
    whole = alice.execute("SELECT COUNT(*) FROM visits WHERE age BETWEEN 10 AND 20 AND region = 'north'").fetchall()
    text = "SELECT COUNT(*) FROM visits WHERE age BETWEEN %s AND %s AND region = %s"
    assert alice.execute(text, ["10", "20", "north"]).fetchall() == whole


def test_intervals_are_columns_on_request(shared: places.Wired, alice: Any) -> None:
    plain = alice.execute(BY_DAY).fetchall()
    spent = shared.spent()
    alice.execute("SET dither.intervals = on")
    found = alice.execute(BY_DAY)
    assert [column.name for column in found.description] == ["day", "n", "n_lower", "n_upper"]
    rows = found.fetchall()
    assert [row[:2] for row in rows] == plain
    assert all(row[2] < row[1] < row[3] for row in rows)
    over = "SELECT MAX(n) AS most, SUM(n) AS n FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY 1) AS t"
    first, second = alice.execute(over, prepare=True), alice.execute(over)
    assert first.fetchall() == second.fetchall()
    assert shared.spent() != spent  # for the question inside
    alice.execute("RESET ALL")
    assert alice.execute("SHOW dither.intervals").fetchone() == ("off",)


def test_a_connection_has_a_budget_of_its_own(shared: places.Wired) -> None:
    with shared.connect(options="-c dither.epsilon=0.02 -c dither.session_budget=0.05") as connection:
        for age in (21, 22):
            connection.execute(f"{COUNT} WHERE age > {age}")
        spent = shared.spent()
        state, told = state_of(connection, f"{COUNT} WHERE age > 23")
        assert (state, "may spend 0.05" in told.message_primary) == ("53400", True)
        assert shared.spent() == spent
        connection.execute("SET dither.epsilon = '0.01'")
        connection.execute(f"{COUNT} WHERE age > 24")
        assert shared.spent() != spent
        connection.execute("SET dither.epsilon = ''; SET dither.error = '1'")
        assert state_of(connection, COUNT)[0] == "53400"


def test_refusals_cost_a_connection_nothing(shared: places.Wired) -> None:
    with shared.connect(options="-c dither.epsilon=0.02 -c dither.session_budget=0.02") as connection:
        for _ in range(3):
            assert state_of(connection, "SELECT nosuch FROM visits")[0] == "0A000"
        connection.execute(f"{COUNT} WHERE age > 25")


@pytest.mark.parametrize(
    ("text", "word"),
    [("SELECT COUNT(*) AS nosuch, 'from nosuch' FROM visits JOIN nosuch ON a = b", "nosuch ON"),
     ("SELECT 1; SELECT COUNT(*) FROM \"Nosuch\"", '"Nosuch"'),
     ("SELECT 1; SELECT nosuch, COUNT(*) FROM visits", "nosuch"), (f"/* ä */ {COUNT} WHERE nosuch > 3", "nosuch"),
     ("SELECT COUNT(*)\nFROM visits\nWHERE\n  age > 'x'", "age")],
)  # fmt: skip
def test_errors_know_their_place(alice: Any, text: str, word: str) -> None:
    state, told = state_of(alice, text)
    assert state in ("0A000", "42P01")
    assert int(told.statement_position) == text.index(word) + 1
    assert told.message_hint or "registered are: visits" in told.message_primary


def test_places_behind_parameters(alice: Any) -> None:
    text = "SELECT COUNT(*) FROM visits WHERE age > %s AND region = %s AND nosuch = 3"
    told = state_of(alice, text, [1_000_000, "north"])[1]
    sent = text.replace("%s", "$1", 1).replace("%s", "$2", 1)
    assert int(told.statement_position) == sent.index("nosuch") + 1


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("COPY visits TO STDOUT", "0A000"), ("COPY visits FROM STDIN", "0A000"), ("PREPARE a AS SELECT 1", "0A000"),
        ("INSERT INTO visits VALUES (1)", "0A000"), ("DROP TABLE visits", "0A000"), ("LISTEN a", "0A000"),
        ("SELECT * FROM visits", "0A000"), ("SELECT note FROM visits", "0A000"), ("TABLE visits", "0A000"),
        ("SELECT COUNT(*) FROM nosuch", "42P01"), ("SELECT COUNT(* FROM visits", "0A000"), ("SELEC 1", "0A000"),
        ("SELECT 'a", "42601"), ("SET nosuch = 1", "42704"), ("SHOW nosuch", "42704"),
        ("SET dither.epsilon = -1", "22023"), ("SET dither.epsilon = 'NaN'", "22023"),
        ("SET dither.rows_per_owner = 0", "22023"), ("SET dither.nosuch = 1", "42704"),
        ("SET client_encoding = latin1", "22023"), ("SET server_version = 9", "22023"), ("EXPLAIN SELECT 1", "0A000"),
        ("SET dither.epsilon", "42601"), ("FETCH 1 FROM nosuch", "34000"), ("CLOSE nosuch", "34000"),
        ("DECLARE c CURSOR FOR SELECT 1", "25P01"), ("SAVEPOINT a", "25P01"), ("DEALLOCATE nosuch", "26000"),
        ("SELECT $1", "42P02"), ("SET dither.intervals = maybe", "22023"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_state(shared: places.Wired, alice: Any, text: str, state: str) -> None:
    before = shared.spent()
    assert state_of(alice, text.encode())[0] == state
    assert alice.execute("SELECT 1").fetchone() == (1,)
    assert shared.spent() == before


def test_over_budget_and_other_errors_of_the_service(shared: places.Wired) -> None:
    with shared.connect(options="-c dither.epsilon=100") as connection:
        state, told = state_of(connection, COUNT)
    assert state == "53400"
    assert told.message_primary.startswith("the price epsilon=100 does not fit into what is left")


PYTHON = re.compile(r"\b\w+=|\w\(\)|Fraction|Decimal")


@pytest.mark.parametrize(
    ("setting", "text", "hint"),
    [
        ("epsilon = '100'", COUNT, "SET dither.epsilon to a smaller one"),
        ("error = '0.001'", COUNT, "dither.error to a larger one"),
        ("error = '1'", "SELECT AVG(age) FROM visits", "SET dither.error = '' and SET dither.epsilon = '0.5'"),
        ("error = '1'", "SELECT MEDIAN(age) FROM visits", "SET dither.error = '' and SET dither.epsilon = '0.5'"),
        ("epsilon = 'abc'", COUNT, "It is the price of a question"),
        ("limit_rows = 'first'", COUNT, "It is after_where"),
    ],
)
def test_hints_can_be_typed_here(shared: places.Wired, setting: str, text: str, hint: str) -> None:
    """Whole sentences with a subject, and settings where Python has arguments."""
    with shared.connect() as connection:
        told = state_of(connection, f"SET dither.{setting}; {text}")[1]
    assert hint in str(told.message_hint)
    for said in (str(told.message_primary), str(told.message_hint)):
        assert not PYTHON.search(said.replace("the price epsilon=", "").replace("the price rho=", "")), said
    assert re.match(r"the price|the error of|'\w+' is|dither\.", str(told.message_primary)), told.message_primary
    assert str(told.message_primary).endswith((".", "'"))


@pytest.mark.parametrize(
    ("made", "state", "hint"),
    [
        (PeopleFrozen("patients"), "55000", "The curator decides that."),
        (AnalystFrozen("patients", "alice"), "55000", "The curator decides that."),
        (AccountClosed("patients", "alice"), "55000", ""),
        (CapMissing("alice", "patients"), "42501", "The curator decides that."),
        (UnsupportedQuery("too much.", hint='With rows_per_owner=3, limit_rows="before_where" it fits.'), "0A000",
         'With dither.rows_per_owner = 3, dither.limit_rows = "before_where" it fits.'),
    ],
)  # fmt: skip
def test_what_only_others_can_do_is_no_hint(made: DitherError, state: str, hint: str) -> None:
    said = report_of(made)
    assert (said.state, said.hint) == (state, hint)
    assert said.message.endswith(".")


def test_rows_may_be_chosen_before_conditions(alice: Any) -> None:
    alice.execute("SET dither.rows_per_owner = 1; SET dither.limit_rows = before_where")
    assert alice.execute(f"EXPLAIN {COUNT} WHERE age > 3").fetchall()
    stated = Settings({"dither.epsilon": "1", "dither.limit_rows": "before_where"}).stated()
    assert stated == {"epsilon": "1", "limit_rows": "before_where"}


def test_an_answer_that_does_not_fit_is_no_crash(shared: places.Wired) -> None:
    """Noise far beyond 64 bits: as text it is there, in binary it is an error, and the connection goes on."""
    with shared.connect(options="-c dither.epsilon=1e-18") as connection:
        text = f"{COUNT} WHERE age > 77"
        connection.execute(text)  # as text any number fits
        with suppress(psycopg.errors.InvalidParameterValue):  # in all likelihood
            connection.execute(text, binary=True).fetchall()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_simple_protocol_stops_at_the_first_error(shared: places.Wired) -> None:
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SELECT 1; nonsense; SELECT 2\0"))
        found = client.until(b"Z")
    assert [kind for kind, _ in found] == [b"T", b"D", b"C", b"E", b"Z"]
    assert found[2][1] == b"SELECT 1\0"


def test_after_an_error_everything_up_to_sync_is_skipped(shared: places.Wired) -> None:
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        parse = message(b"P", b"\0SELECT 1\0\0\0")
        bind, execute, sync = message(b"B", b"\0\0\0\0\0\0\0\0"), message(b"E", b"\0\0\0\0\0"), message(b"S")
        client.send(message(b"P", b"\0nonsense one; two\0\0\0") + parse + bind + execute + sync)
        assert [kind for kind, _ in client.until(b"Z")] == [b"E", b"Z"]
        query, called = message(b"Q", b"SELECT 1\0"), message(b"F", b"\0" * 10)
        client.send(message(b"P", b"\0nonsense one; two\0\0\0") + query + called + query + sync)
        assert [kind for kind, _ in client.until(b"Z")] == [b"E", b"Z"]
        client.send(parse + bind + execute + sync)
        assert [kind for kind, _ in client.until(b"Z")] == [b"1", b"2", b"D", b"C", b"Z"]
        client.send(message(b"P", b"\0\0\0\0") + bind + message(b"D", b"P\0") + execute + sync)
        assert [kind for kind, _ in client.until(b"Z")] == [b"1", b"2", b"n", b"I", b"Z"]
