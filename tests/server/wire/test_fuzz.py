"""Broken messages by the thousand: nothing crashes, nothing leaks, nothing is charged.

Questions that could be answered are prepared, bound and described, and never run; what is run is refused or free.
`make wire` sends 100,000 messages. What went wrong is told with its seed.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import wire_places as places
from wire_raw_client import RawClient, message, startup

from dither.server.wire import parameters, session
from dither.server.wire.channel import Content

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
MESSAGES = 2_000 * CAMPAIGN
SEED = int(os.environ.get("DITHER_SEED", "1"))
OIDS = (0, 16, 20, 21, 23, 25, 26, 700, 701, 1043, 1082, 1114, 1184, 1700, 99999)
QUESTIONS = (
    b"SELECT COUNT(*) FROM visits WHERE age > $1",
    b"SELECT region, COUNT(*), SUM(fee) FROM visits WHERE day >= $1 AND note <> $2 GROUP BY region",
    b"SELECT MAX(n) FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY 1) AS t",
)
HARMLESS = (
    *(line.encode() for line in Path(__file__).with_name("hostile_catalog.sql").read_text("utf-8").splitlines()),
    b"SELECT note FROM visits", b"SELECT * FROM visits LIMIT $1", b"SELECT COUNT(*) FROM visits WHERE note = ", b"",
    b"SELECT 1", b"SELECT $1", b"SHOW ALL", b"BEGIN", b"ROLLBACK", b"COMMIT", b"SAVEPOINT a", b"RELEASE a",
    b"DISCARD ALL",
    b"SET dither.epsilon = 'x'", b"EXPLAIN SELECT COUNT(*) FROM visits", b"COPY visits TO STDOUT", b"FETCH ALL FROM x",
    b"DECLARE x CURSOR FOR SELECT note FROM visits", b"CLOSE ALL", b"SELECT '\xff'", b"/*" * 50,
    b"((((" * 300, b";" * 200,
    b"SELECT relname, $1 FROM pg_class WHERE oid = $2", b"EXECUTE a", b"SELECT 'canary" + b"x" * 5000,
    b"SELECT $" + b"1" * 5000, b"SELECT '" + b"9" * 5000 + b"'::regclass",
)  # fmt: skip


def value(draw: random.Random) -> bytes:
    """A parameter with its length, mostly none that it should have."""
    content = draw.choice((b"40", b"north", b"2024-01-02", b"", draw.randbytes(8), draw.randbytes(draw.randrange(40))))
    size = draw.choice((len(content), len(content), -1, -2, len(content) + 1, 2**31 - 1))
    return struct.pack("!i", size) + (content if size == len(content) else b"")


def many(draw: random.Random, item: Callable[[], bytes]) -> bytes:
    count = draw.randrange(4)
    said = draw.choice((count, count, count, draw.randrange(65536)))
    return struct.pack("!H", said) + b"".join(item() for _ in range(count))


def formats(draw: random.Random) -> bytes:
    return many(draw, lambda: struct.pack("!h", draw.choice((0, 0, 1, 2, -1))))


def parse(draw: random.Random) -> bytes:
    types = many(draw, lambda: struct.pack("!I", draw.choice(OIDS)))
    if draw.random() < 0.3:
        return message(b"P", b"question\0" + draw.choice(QUESTIONS) + b"\0" + types)
    return message(b"P", draw.choice((b"", b"a", b"b")) + b"\0" + draw.choice(HARMLESS) + b"\0" + types)


def bind(draw: random.Random) -> bytes:
    """Portals of questions have a name under which nothing is run."""
    if draw.random() < 0.3:
        names = b"unrun\0question\0"
    else:
        names = draw.choice((b"", b"x", b"y")) + b"\0" + draw.choice((b"", b"a", b"b", b"nosuch")) + b"\0"
    return message(b"B", names + formats(draw) + many(draw, lambda: value(draw)) + formats(draw))


def describe(draw: random.Random) -> bytes:
    name = draw.choice((b"Squestion", b"Sa", b"S", b"Punrun", b"Px", b"P", b"X", b""))
    return message(b"D", name + draw.choice((b"\0", b"\0", b"", b"\0\0")))


def execute(draw: random.Random) -> bytes:
    return message(
        b"E", draw.choice((b"", b"x", b"y", b"nosuch")) + b"\0" + struct.pack("!i", draw.choice((0, 1, -1, 2**31 - 1)))
    )


def simple(draw: random.Random) -> bytes:
    return message(b"Q", draw.choice(HARMLESS) + draw.choice((b"\0", b"\0", b"\0", b"", b"\0x")))


def noise(draw: random.Random) -> bytes:
    kind = bytes([draw.randrange(256)])
    if draw.random() < 0.5:
        return message(kind, draw.randbytes(draw.randrange(30)))
    return kind + struct.pack("!i", draw.choice((0, 3, -1, 2**31 - 1, 600_000))) + draw.randbytes(5)


def well_formed(draw: random.Random) -> bytes:
    """A whole question up to where it would be run, with a parameter of any type and content."""
    oid, form = draw.choice(OIDS), draw.choice((0, 1))
    content = draw.choice((b"40", b"", b"north", b"NaN", draw.randbytes(draw.choice((1, 2, 4, 8, 10, 12)))))
    bound = struct.pack("!hhhi", 1, form, 1, len(content)) + content + b"\0\0"
    return (
        message(b"P", b"question\0" + QUESTIONS[0] + b"\0" + struct.pack("!hI", 1, oid))
        + message(b"B", b"unrun\0question\0" + bound)
        + message(b"D", b"Punrun\0")
        + message(b"C", b"Punrun\0")
        + message(b"C", b"Squestion\0")
        + message(b"S")
    )


MAKERS = (parse, parse, bind, bind, describe, execute, simple, simple, noise, well_formed, well_formed,
          lambda draw: message(b"S"), lambda draw: message(b"S"), lambda draw: message(b"H"),
          lambda draw: message(b"C", draw.choice((b"Sa\0", b"Px\0", b"Pnosuch\0", b"Z\0"))))  # fmt: skip


def converse(clinic: places.Wired, draw: random.Random, count: int) -> tuple[bytes, int]:
    """Send messages until so many are sent or the server has hung up; what it said, and how many."""
    sent = 0
    with RawClient(clinic.listener.port) as client, suppress(OSError):
        if draw.random() < 0.1:  # by somebody who is not known
            sent = 1
            client.send(draw.choice((startup("alice"), b"", struct.pack("!ii", 8, 80877104))) + draw.randbytes(60))
        else:
            client.login(*clinic.user("alice"))
            client.send(message(b"Q", b"SET dither.epsilon = '0.5'\0"))
            client.until(b"Z")
            while sent < count:
                sent += 1
                client.send(draw.choice(MAKERS)(draw))
                if draw.random() < 0.3:
                    client.send(message(b"S"))
                    if not client.until(b"Z"):
                        break
        client.socket.shutdown(1)
        client.until()
    return bytes(client.seen), sent


def fuzzed(clinic: places.Wired, messages: int, seed: int) -> list[str]:
    """What went wrong."""
    found: list[str] = []
    before, sent, number = clinic.spent(), 0, seed * 1_000_000
    while sent < messages and not found:
        number += 1
        said, count = converse(clinic, random.Random(number), 20)
        sent += count
        if places.CANARY.encode() in said:
            found.append(f"leak at {number}")
        if clinic.spent() != before:
            found.append(f"charge at {number}")
        if b"something went wrong here" in said:
            found.append(f"crash at {number}")
    with clinic.connect() as connection:  # it is still there
        connection.execute("SELECT 1")
    return found


def test_broken_messages_do_no_harm(shared: places.Wired) -> None:
    assert fuzzed(shared, MESSAGES, SEED) == []


def test_planted_describing_that_asks(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    described = session.Session._describe

    def asking(self: session.Session, content: Content) -> None:
        described(self, content)
        for portal in self._connection.portals.values():
            portal.run(self._connection)

    monkeypatch.setattr(session.Session, "_describe", asking)
    assert any("charge" in one for one in fuzzed(shared, 2_000, SEED))


def test_planted_unchecked_parameters(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.server.wire.prepared.literal", lambda value, oid, binary: str(int(value or b"")))
    assert parameters.literal(b"1", 23, False) == "1"
    assert any("crash" in one for one in fuzzed(shared, 2_000, SEED))


def test_planted_errors_that_quote_data(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that has what a row holds in it."""
    told = session.report_of

    def quoting(error: Exception, text: str = "", *, severity: str = "ERROR") -> session.Report:
        found = told(error, text, severity=severity)
        return session.Report(
            found.severity, found.state, f"{found.message} at {places.CANARY}", found.hint, found.position
        )

    monkeypatch.setattr(session, "report_of", quoting)
    assert any("leak" in one for one in fuzzed(shared, 2_000, SEED))
