"""A ledger moves from a folder into a database, or back: its chain goes on there, and ends for good where it was.

The last entry of the old place says that it moved, and nothing is ever added after it there. The new place has all
entries, that one included, and goes on with one that says it arrived: one chain, under the same key and anchor. So
whatever is kept of the old place is refused, by its own last entry and by the anchor. A move that was cut short is done
again from the beginning, or from where the new place has arrived.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from dither.errors import LedgerError
from dither.ledger.index import COLUMNS as RESERVATIONS
from dither.ledger.index import count_all
from dither.ledger.journal import Journal
from dither.ledger.page import COLUMNS as ENTRIES
from dither.ledger.page import Page, load
from dither.ledger.storage.address import IN_THE_FOLDER, anchor_of, place_of, target_of
from dither.ledger.storage.protocol import Connection, Place
from dither.ledger.verify import verify, verify_page

_TABLES = {
    "entries": ENTRIES,
    "accounts": "opened, cap, cap_delta, spent, spent_delta",
    "reservations": RESERVATIONS,
    "answers": "reservation, content",
    "stored": "analyst, bytes",
}
_MANY = 200  # rows at once; an answer among them has up to a megabyte
Beside = Callable[[Path, str], None]


def move(
    folder: Path,
    to: str,
    *,
    anchor: Path | str | None = None,
    weak_anchor: bool = False,
    beside: Beside = lambda folder, to: None,
) -> int:
    """Move the ledger of a folder to an address, or into the folder; the number of entries, all proven at both ends.

    `beside` takes what belongs to the ledger and is kept elsewhere to the same place, before that is used.
    """
    source, target = place_of(folder), target_of(folder, to)
    source.check()
    key = source.read_key()
    for place in (source, target):
        marks, origin = anchor_of(place, anchor, key, weak=weak_anchor)
    leaving, arriving = Journal(source, key, marks), Journal(target, key, marks)
    try:
        leaving.upgrade(lambda connection: count_all(connection, source), lambda page: verify_page(page, None))
        leaving.open(origin, moved=True)
        verify(leaving.reading, source)
        target.prepare_beside()
        _leave(leaving, target, "folder" if to == IN_THE_FOLDER else "database")
        with leaving.reading() as page:
            files = _arrive(page, target)
        for name in files:
            target.store_answer(source.load_answer(name))
        store = target.store()
        with store.transaction(write=False) as connection:
            entries = verify_page(load(connection, key), target)
        store.stop("")
        beside(folder, to)
        leaving.close_store()
        target.take_over()
        arriving.open(origin)  # from here on the anchor is ahead of the old place
        return entries
    finally:
        leaving.close()
        arriving.close()


def _leave(journal: Journal, target: Place, to: str) -> None:
    """Close the old place, unless it is."""
    with journal.writing() as page:
        if page.head.kind == "moved":
            return
        store = target.store()
        with store.transaction(write=False) as connection:
            used = connection.has_tables()
        store.stop("")
        if used:
            raise LedgerError("there is a ledger already where this one should go; nothing was moved.")
        page.append("moved", {"to": to, "nonce": secrets.token_hex(16)})


def _arrive(page: Page, target: Place) -> list[str]:
    """Copy everything in one transaction, prove it, and go on from there; the names of its large answers."""
    store = target.store()
    with store.transaction(write=True) as connection:
        if not connection.has_tables():
            connection.make_tables()
            for table, columns in _TABLES.items():
                _copy(page.connection, connection, table, columns)
            arrived = load(connection, page.key)
            verify_page(arrived, None)
            if arrived.head != page.head:
                raise LedgerError("the copy of the ledger does not end where the ledger ends; nothing was moved.")
            arrived.append("arrived", {"nonce": secrets.token_hex(16)})
        elif load(connection, page.key).entry(page.head.sequence) != page.head:
            raise LedgerError("there is another ledger already where this one should go.")
    store.stop("")
    settled = page.connection.execute("SELECT sequence FROM entries WHERE kind = 'settle' ORDER BY sequence")
    bodies = (page.entry(sequence).body for (sequence,) in settled.fetchall())
    return [body["sha256"] for body in bodies if body["file"]]


def _copy(here: Connection, there: Connection, table: str, columns: str) -> None:
    places = ", ".join("?" for _ in columns.split(", "))
    found = here.execute(f"SELECT {columns} FROM {table} ORDER BY 1")
    while rows := found.fetchmany(_MANY):
        for row in rows:
            there.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", row)
