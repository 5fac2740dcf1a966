"""Arrays as parameters: = ANY ($1) asks what IN (...) asks, in every form that a client may send."""

from __future__ import annotations

import datetime
import struct
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.server.wire import parameters
from dither.server.wire.parameters import inferred, list_literal, other_lists
from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import ListLiteral, statements

COUNT = "SELECT COUNT(*) FROM visits WHERE"
DAYS = [datetime.date(2024, 1, 3), datetime.date(2024, 1, 4)]


@pytest.mark.parametrize(
    ("column", "values", "listed"),
    [
        ("age", [21, 22], "21, 22"),
        ("age", [21, 2**40], f"21, {2**40}"),
        ("region", ["north", "south"], "'north', 'south'"),
        ("day", DAYS, "DATE '2024-01-03', DATE '2024-01-04'"),
        ("ok", [True], "TRUE"),
    ],
)
@pytest.mark.parametrize("form", ["%s", "%b", "%t"])
def test_any_asks_what_in_asks(
    shared: places.Wired, alice: Any, column: str, values: list[Any], listed: str, form: str
) -> None:
    for listing, comparing in ((f"IN ({listed})", f"= ANY({form})"), (f"NOT IN ({listed})", f"<> ALL({form})")):
        (expected,) = alice.execute(f"{COUNT} {column} {listing}").fetchone()
        before = shared.spent()
        assert alice.execute(f"{COUNT} {column} {comparing}", [values]).fetchone() == (expected,)
        assert shared.spent() == before, "it is the same question"


def test_lists_for_the_catalog(alice: Any) -> None:
    named = "SELECT typname FROM pg_type WHERE oid = ANY(%s::oid[]) AND typname <> ALL(%s) ORDER BY 1"
    assert alice.execute(named, [[20, 21, 25], ["text"]]).fetchall() == [("int2",), ("int8",)]


@pytest.mark.parametrize(
    ("where", "oid"), [("age = ANY($1)", 1231), ("region = ANY($1)", 1009), ("age = ANY($1::int[])", 1007)]
)
def test_prepared_statements_tell_arrays(shared: places.Wired, where: str, oid: int) -> None:
    """And a list in text whose type nobody has said is read as what fits."""
    with RawClient(shared.listener.port) as client:
        client.login(*shared.user("alice"))
        client.send(message(b"Q", b"SET dither.epsilon = '0.01'\0"))
        client.until(b"Z")
        client.send(message(b"P", f"\0{COUNT} {where}\0\0\0".encode()) + message(b"D", b"S\0") + message(b"S"))
        found = dict(client.until(b"Z"))
        assert struct.unpack("!hI", found[b"t"]) == (1, oid)
        value = b"{north}" if oid == 1009 else b"{41,42}"
        bound = struct.pack("!hhi", 0, 1, len(value)) + value + b"\0\0"
        client.send(message(b"B", b"\0\0" + bound) + message(b"E", b"\0\0\0\0\0") + message(b"S"))
        assert [kind for kind, _ in client.until(b"Z")] == [b"2", b"D", b"C", b"Z"]


HOSTILE = ["north') OR (1 = 1", "'", "''", "\\", '"', "a,b", "{north}", "NULL", "--", ");"]


def check_hostile(item: str) -> None:
    """Whatever a text holds, it is one literal of the question."""
    written = list_literal(("{" + _quoted(item) + "}").encode(), 1009, False)
    (statement,) = statements("SELECT 1 FROM t WHERE x = ANY($1) AND y = 1")
    bound = statement.bound({1: written}).text
    (again,) = statements(bound)
    literals = [token.value for token in again.tokens if token.kind == "quoted"]
    assert literals == [item], "one literal"
    assert again.words[-5:] == (")", "AND", "Y", "=", "1")


def _quoted(item: str) -> str:
    return '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("item", HOSTILE)
def test_items_stay_literals(item: str) -> None:
    check_hostile(item)


def test_planted_items_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "quoted", lambda text: f"'{text}'")
    with pytest.raises((AssertionError, WireError)):
        check_hostile(HOSTILE[0])


def binary(dimensions: int, kind: int, *items: bytes | None, count: int | None = None) -> bytes:
    made = struct.pack("!iii", dimensions, 0, kind)
    if dimensions:
        made += struct.pack("!ii", len(items) if count is None else count, 1)
    return made + b"".join(b"\xff\xff\xff\xff" if one is None else struct.pack("!i", len(one)) + one for one in items)


def test_forms_of_lists() -> None:
    assert list_literal(b'{1,"2", 3 ,NULL}', 1007, False) == "ARRAY[1, 2, 3, NULL]"
    assert list_literal(None, 1007, False).values == "NULL"
    assert list_literal(b'{north,"a \\"b\\" \\\\","NULL"}', 0, False).values == "'north', 'a \"b\" \\', 'NULL'"
    assert list_literal(binary(1, 23, struct.pack("!i", -4), None), 1007, True).values == "(-4), NULL"
    assert other_lists(b"{1,2.5}") == ["ARRAY[1, 2.5]"]
    assert other_lists(b"{1,x}") == other_lists(b"1") == other_lists(None) == []
    assert (inferred(0, "text[]"), inferred(0, "nosuch[]"), inferred(20, "text[]")) == (1009, 0, 20)
    assert isinstance(list_literal(b"{1}", 1007, False), ListLiteral)


TEXTS = (b"1", b"{1", b"{1,}", b"{,1}", b"{{1},{2}}", b'{"1}', b"{x}", b"{1}{2}", b'{1"2"}')
BINARIES = (
    *(b"", b"\0" * 11, binary(2, 23), binary(1, 25, b"1"), binary(1, 23, b"1"), binary(1, 23, count=2**30)),
    *(binary(1, 23, count=-1), binary(1, 23, b"\0\0\0\1") + b"x"),
)


@pytest.mark.parametrize(
    ("value", "oid", "form"), [(one, 1007, False) for one in TEXTS] + [(one, 1007, True) for one in BINARIES]
)
def test_what_is_no_list_is_refused(value: bytes, oid: int, form: bool) -> None:
    with pytest.raises(WireError) as refused:
        list_literal(value, oid, form)
    assert refused.value.state == "22P02"


def test_what_else_is_refused_and_free(shared: places.Wired, alice: Any) -> None:
    before = shared.spent()
    for text, values in (
        (f"{COUNT} age = ANY(%s)", [list[int]()]),
        (f"{COUNT} age <= ANY(%s)", [[1, 2]]),
        (f"{COUNT} age = %s", [[1, 2]]),
        (f"{COUNT} age = ANY(%s)", [[[1], [2]]]),
    ):
        with pytest.raises(psycopg.Error) as refused:
            alice.execute(text, values)
        assert refused.value.sqlstate in ("0A000", "22P02", "42601", "22023"), refused.value
    assert shared.spent() == before
