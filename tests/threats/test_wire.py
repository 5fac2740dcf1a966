"""Threats over PostgreSQL's protocol: what it shows before the noise is the same on neighbours, whole and harmless."""

from __future__ import annotations

import importlib.util
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.server.wire import portal, results, sqlstates
from dither.server.wire.catalog import rows

WIRE = Path(__file__).parents[1] / "server" / "wire"
for _name in ("places", "raw_client"):
    if f"wire_{_name}" not in sys.modules:
        _spec = importlib.util.spec_from_file_location(f"wire_{_name}", WIRE / f"{_name}.py")
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[f"wire_{_name}"] = _loaded
        _spec.loader.exec_module(_loaded)

import wire_places as places  # noqa: E402
from wire_raw_client import RawClient, message  # noqa: E402

PRICE = b"SET dither.epsilon = '0.01'\0"
BY_DAY = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT region, ok, SUM(fee), AVG(age) FROM visits WHERE note = 'canary4217' GROUP BY region, ok",
    "SELECT MAX(n) FROM (SELECT day, COUNT(*) AS n FROM visits GROUP BY day) AS t",
    "SELECT note FROM visits",
    "SELECT COUNT(*) FROM visits WHERE note = nosuch",
)
ROWS: list[int] = []  # that each side's table really has, for a bug to tell


@contextmanager
def logged_in(clinic: places.Wired) -> Iterator[RawClient]:
    with RawClient(clinic.listener.port) as client:
        client.login(*clinic.user("alice"))
        client.send(message(b"Q", PRICE))
        client.until(b"Z")
        client.seen.clear()
        yield client


# -- row 33: EXPLAIN, descriptions, the catalog


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[places.Wired, places.Wired]]:
    """A clinic, and the same without its last owner."""
    folder = tmp_path_factory.mktemp("wire")
    with (
        places.wired(folder / "all", places.visits(places.OWNERS)) as everybody,
        places.wired(folder / "fewer", places.visits(places.OWNERS - 1)) as fewer,
    ):
        yield everybody, fewer


def observed(clinic: places.Wired) -> bytes:
    """All bytes that are sent for queries of the catalog, explanations and descriptions."""
    with logged_in(clinic) as client:
        whole = [f"SELECT * FROM {'.'.join(relation)}" for relation in rows._MAKERS]
        sizes = "SELECT pg_table_size(oid), pg_relation_size(oid), obj_description(oid, 'pg_class') FROM pg_class"
        for text in (*whole, sizes, *(f"EXPLAIN {question}" for question in QUESTIONS)):
            client.send(message(b"Q", text.encode() + b"\0"))
            client.until(b"Z")
        for question in QUESTIONS:
            parse = message(b"P", b"\0" + question.encode() + b"\0\0\0")
            bind = message(b"B", b"\0\0\0\0\0\0\0\0")
            client.send(parse + bind + message(b"D", b"S\0") + message(b"D", b"P\0") + message(b"S"))
            client.until(b"Z")
        return bytes(client.seen).replace(clinic.user("alice")[0].encode(), b"alice")


def alike(sides: tuple[places.Wired, places.Wired]) -> bool:
    seen = []
    for clinic, owners in zip(sides, (places.OWNERS, places.OWNERS - 1), strict=True):
        ROWS[:] = [owners]
        before = clinic.spent()
        seen.append(observed(clinic))
        assert clinic.spent() == before
        assert seen[-1].count(b"visits") > 5
    return seen[0] == seen[1]


def test_neighbours_look_the_same(sides: tuple[places.Wired, places.Wired]) -> None:
    assert alike(sides)


def test_planted_statistics_in_the_catalog(
    sides: tuple[places.Wired, places.Wired], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rows._classes

    def counted(known: rows.Declarations) -> Iterator[rows.Row]:
        return ({**row, "reltuples": float(ROWS[0])} for row in made(known))

    monkeypatch.setitem(rows._MAKERS, ("pg_catalog", "pg_class"), counted)
    assert not alike(sides)


# -- row 47: an answer that is read in parts while its table is loaded anew


def read_around_a_refresh(folder: Path) -> tuple[list[bytes], list[bytes]]:
    """The rows of an answer, and the same read in two parts with a refresh between them."""
    with places.wired(folder) as clinic, logged_in(clinic) as client:
        client.send(message(b"Q", f"{BY_DAY}; BEGIN".encode() + b"\0"))
        whole = [content for kind, content in client.until(b"Z") if kind == b"D"]
        client.send(message(b"P", b"\0" + BY_DAY.encode() + b"\0\0\0") + message(b"B", b"p\0\0\0\0\0\0\0\0"))
        client.send(message(b"E", b"p\0" + struct.pack("!i", 10)) + message(b"S"))
        parts = [content for kind, content in client.until(b"Z") if kind == b"D"]
        assert len(parts) == 10
        clinic.curator.refresh("visits", places.visits(20))
        client.send(message(b"E", b"p\0" + struct.pack("!i", 0)) + message(b"S"))
        return whole, parts + [content for kind, content in client.until(b"Z") if kind == b"D"]


def test_a_portal_reads_one_version(tmp_path: Path) -> None:
    whole, parts = read_around_a_refresh(tmp_path)
    assert len(whole) == 29
    assert parts == whole


def test_planted_portals_that_ask_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = portal.Portal.run

    def anew(self: portal.Portal, connection: Any) -> Any:
        self.outcome = None
        return run(self, connection)

    monkeypatch.setattr(portal.Portal, "run", anew)
    whole, parts = read_around_a_refresh(tmp_path)
    assert parts != whole


# -- row 65: labels and names that would act where they are shown

LABELS = [
    "plain",
    "=1+1",
    "<b>",
    "a\x1b[2Jb",
    "\x07",
    "\u202etxt",
    "a\nb",
    "E\0\0\0\x05",
    "\0",
    "a\0b",
    "'; DROP",
    "\\",
    "{,}",
]


def check_rows() -> None:
    """Rows of such labels under such names keep their form, and clients read what is there."""
    shown = results.Rows(
        tuple(results.RowColumn(name, results.ValueType(25)) for name in LABELS), [[label] for label in LABELS]
    )
    (message_,) = shown.messages(0, 1, [0] * len(LABELS))
    head = b"".join(results.described(shown.columns, [0] * len(LABELS)))
    names, place = [], 2
    for _ in LABELS:
        end = head.index(b"\0", place)
        names.append(head[place:end].decode())
        assert head[end + 1 : end + 13] == struct.pack("!ihih", 0, 0, 25, -1)
        place = end + 19
    assert place == len(head)
    harmless = [label.replace("\0", "\N{REPLACEMENT CHARACTER}") for label in LABELS]
    assert names == harmless
    place, cells = 7, []
    for _ in LABELS:
        (size,) = struct.unpack("!i", message_[place : place + 4])
        cells.append(message_[place + 4 : place + 4 + size].decode())
        place += 4 + size
    assert cells == harmless


def check_errors() -> None:
    """What is told to people is visible characters, in as many fields as there are."""
    for label in LABELS:
        content = sqlstates.Report("ERROR", "0A000", f"no {label}", f"not {label}", 7).content()
        fields = content.split(b"\0")
        assert [field[:1] for field in fields] == [b"S", b"V", b"C", b"M", b"H", b"P", b"", b""]
        assert all(line.isprintable() for field in fields for line in field.decode().split("\n"))


def check_all() -> None:
    check_rows()
    check_errors()


def test_labels_and_names_keep_the_protocol() -> None:
    check_all()


def test_labels_through_a_listener(tmp_path: Path) -> None:
    """A column declared with such labels: every row is there, and so are the rows of the catalog."""
    labels = [label for label in LABELS if "\0" not in label]
    with places.wired(tmp_path) as clinic:
        source = places.visits(20)
        declared = {"odd": dt.Category(labels, source="note")}
        clinic.curator.register(
            "strange", source, people="patients", owner="pid", max_rows_per_owner=1, columns=declared
        )
        with clinic.connect(options="-c dither.epsilon=0.01") as connection:
            found = connection.execute("SELECT odd, COUNT(*) FROM strange GROUP BY odd").fetchall()
            assert [row[0] for row in found] == [*labels, None]
            assert len(connection.execute("SELECT COUNT(*) FROM strange WHERE odd = %s", [labels[1]]).fetchall()) == 1
            comments = connection.execute("SELECT description FROM pg_description").fetchall()
            assert all(text.isprintable() for (text,) in comments)


@pytest.mark.parametrize("place", ["names", "cells", "errors"])
def test_planted_texts_as_they_are(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    if place == "names":
        monkeypatch.setattr(results, "cstring", lambda text: text.encode() + b"\0")
    elif place == "cells":
        monkeypatch.setattr("dither.server.wire.value_types._text", lambda value: str(value).encode())
    else:
        monkeypatch.setattr(sqlstates, "visible_lines", str)
    with pytest.raises((AssertionError, struct.error, ValueError)):
        check_all()
