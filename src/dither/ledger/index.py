"""Finding reservations and answers. The tables only point; what is returned comes from authentic entries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from dither.errors import LedgerCorrupt, PolicyError
from dither.ledger.chain import Link, canonical_json, same
from dither.ledger.page import Page
from dither.ledger.storage.protocol import Connection, Place
from dither.ledger.units import Units
from dither.ledger.values import ASKED, Charge, Entry, Reservation

COLUMNS = "id, question, cost, delta, request, settled"
_TEXTS = ("question", "snapshot", "plan", "request", "principal", "sql", "alias")  # of a reserve entry, if it has them


def row_of(entry: Link, settled: int | None) -> tuple[int, bytes, int, int, bytes | None, int | None]:
    """The pointer that belongs to a reserve entry."""
    body = entry.body
    question = _lookup(body["people"], body["analyst"], body["question"], body["snapshot"])
    request = None if body["request"] is None else _lookup(body["people"], body["analyst"], body["request"])
    _, cost, delta = body["units"][0]
    return entry.sequence, question, cost, delta, request, settled


def add(page: Page, entry: Link) -> None:
    """Point to a new reservation, and count what it recorded."""
    page.connection.execute(f"INSERT INTO reservations ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row_of(entry, None))
    _add_bytes(page.connection, entry.body["analyst"], recorded(entry.body))


def recorded(texts: Mapping[str, Any]) -> int:
    """Bytes that the texts of a question take for good, as its entry writes them; whatever becomes of it."""
    return sum(len(canonical_json(texts[name])) for name in _TEXTS if texts.get(name) is not None)


def settle(page: Page, number: int, entry: Link) -> None:
    """Point from a reservation to what became of it, once."""
    changed = page.connection.execute(
        "UPDATE reservations SET settled = ? WHERE id = ? AND settled IS NULL", (entry.sequence, number)
    )
    if changed.rowcount != 1:
        raise LedgerCorrupt(f"reservation {number} was changed behind the ledger.")


def store_answer(page: Page, number: int, answer: bytes) -> None:
    """Keep a small answer inside the database."""
    page.connection.execute("INSERT INTO answers (reservation, content) VALUES (?, ?)", (number, answer))


def count_bytes(page: Page, number: int, size: int) -> None:
    """Add to what the analyst of a reservation has stored."""
    _add_bytes(page.connection, page.entry(number).body["analyst"], size)


def bytes_of(page: Page, analyst: str | None) -> int:
    """How many bytes the questions and answers of this very analyst have; those of the curator under None."""
    row = page.connection.execute("SELECT bytes FROM stored WHERE analyst = ?", (analyst or "",)).fetchone()
    return 0 if row is None else int(row[0])


def count_all(connection: Connection, folder: Place) -> None:
    """What all analysts have stored, in a ledger that did not count it, or not all of it."""
    connection.execute("DELETE FROM stored")
    for (of,) in connection.execute("SELECT body FROM entries WHERE kind = 'reserve'").fetchall():
        body = json.loads(of)
        _add_bytes(connection, body["analyst"], recorded(body))
    for answer, of, size in connection.execute(
        "SELECT s.body, r.body, (SELECT length(content) FROM answers WHERE reservation = r.sequence) FROM entries AS s"
        " JOIN entries AS r ON r.sequence = json_extract(s.body, '$.reservation') WHERE s.kind = 'settle'"
    ).fetchall():
        found = folder.answer_size(json.loads(answer)["sha256"]) if size is None else size
        _add_bytes(connection, json.loads(of)["analyst"], found)


def _add_bytes(connection: Connection, analyst: str | None, size: int) -> None:
    connection.execute(
        "INSERT INTO stored (analyst, bytes) VALUES (?, ?)"
        " ON CONFLICT (analyst) DO UPDATE SET bytes = stored.bytes + ?",
        (analyst or "", size, size),
    )


def is_open(page: Page, number: int) -> bool:
    """Whether the reservation still waits for its answer; PolicyError if there is no such reservation."""
    if number in page.book.pending:
        return True
    possible = isinstance(number, int) and 1 <= number <= page.head.sequence
    if not possible or page.connection.execute("SELECT 1 FROM reservations WHERE id = ?", (number,)).fetchone() is None:
        raise PolicyError(f"there is no reservation {number!r} in this ledger.")
    return False


def by_request(page: Page, people: str, analyst: str | None, request: str | None) -> int | None:
    """The reservation made under that request id, if any."""
    if request is None:
        return None
    row = page.connection.execute(
        "SELECT id FROM reservations WHERE request = ?", (_lookup(people, analyst, request),)
    ).fetchone()
    return None if row is None else int(row[0])


def by_question(page: Page, people: str, analyst: str | None, question: str, snapshot: str, least: Units) -> list[int]:
    """Settled or failed reservations of this analyst for that question, the most expensive first, then the oldest."""
    rows = page.connection.execute(
        "SELECT id FROM reservations WHERE question = ? AND cost >= ? AND delta >= ? AND settled IS NOT NULL"
        " ORDER BY cost DESC, delta DESC, id",
        (_lookup(people, analyst, question, snapshot), least.cost, least.delta),
    )
    return [number for (number,) in rows]


def events(page: Page, after: int) -> Iterator[Link]:
    """The curator's events after that entry, the newest first."""
    found = page.connection.execute(
        "SELECT sequence FROM entries INDEXED BY entries_events WHERE kind = 'event' AND sequence > ?"
        " ORDER BY sequence DESC",
        (after,),
    )
    for (sequence,) in found:
        entry = page.entry(sequence)
        if entry.kind != "event":
            raise LedgerCorrupt(f"the pointer to event {sequence} was changed.")
        yield entry


def entry_of(link: Link) -> Entry:
    """An entry as it is read; events appear under their own kind."""
    if link.kind == "event":
        return Entry(link.sequence, link.body["event"], link.body["body"], link.version)
    return Entry(link.sequence, link.kind, link.body, link.version)


def reservation(page: Page, folder: Place, number: int) -> Reservation:
    """The reservation of that number as its authentic entries tell it."""
    row = page.connection.execute(f"SELECT {COLUMNS} FROM reservations WHERE id = ?", (number,)).fetchone()
    entry = page.entry(number)
    if row is None or entry.kind != "reserve" or row != row_of(entry, row[-1]):
        raise LedgerCorrupt(f"the pointer to reservation {number} was changed.")
    settled = row[-1]
    if (settled is None) != (number in page.book.pending):
        raise LedgerCorrupt(f"the state of reservation {number} was changed.")
    state, answer = outcome(page, folder, number, settled)
    body = entry.body
    return Reservation(
        id=number,
        people=body["people"],
        analyst=body["analyst"],
        question=body["question"],
        snapshot=body["snapshot"],
        plan=body["plan"],
        charge=Charge(Fraction(body["cost"]), Fraction(body["delta"])),
        request=body["request"],
        state=state,
        answer=answer,
        **{name: body[name] for name in ASKED if name in body},
    )


def end_of(page: Page, number: int) -> Link | None:
    """The entry that settled a reservation; None while it is open."""
    row = page.connection.execute("SELECT settled FROM reservations WHERE id = ?", (number,)).fetchone()
    if row is None or (row[0] is None) != (number in page.book.pending):
        raise LedgerCorrupt(f"the state of reservation {number} was changed.")
    return None if row[0] is None else _settling(page, number, row[0])


def _settling(page: Page, number: int, settled: int) -> Link:
    entry = page.entry(settled)
    if entry.kind not in ("settle", "fail") or entry.body["reservation"] != number:
        raise LedgerCorrupt(f"the outcome of reservation {number} was changed.")
    return entry


def outcome(page: Page, folder: Place, number: int, settled: int | None) -> tuple[Any, bytes | None]:
    """State and stored answer, proven by the entry that settled the reservation."""
    if settled is None:
        return "reserved", None
    entry = _settling(page, number, settled)
    if entry.kind == "fail":
        return "failed", None
    name = entry.body["sha256"]
    if entry.body["file"]:
        return "settled", folder.load_answer(name)
    row = page.connection.execute("SELECT content FROM answers WHERE reservation = ?", (number,)).fetchone()
    answer = row[0] if row else None
    if not isinstance(answer, bytes) or not same(sha256(answer).digest(), bytes.fromhex(name)):
        raise LedgerCorrupt(f"the stored answer of reservation {number} is missing or was changed.")
    return "settled", answer


def _lookup(*parts: str | None) -> bytes:
    return sha256(canonical_json(parts).encode()).digest()
