"""Backups of a curator's folder, and the way back from one.

A backup has everything but the anchor: with it, a copy would open as if nothing had happened since, and every budget
could be spent twice. So a copy opens only with the anchor that the ledger was made with, which refuses it if charges
have passed it, until what the anchor has seen is counted as spent.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dither.errors import LedgerCorrupt, LedgerError, PolicyError
from dither.policy.store import PolicyFile

_LEFT_OUT = (".anchor", "-wal", "-shm", "-turn", ".lock")  # anchors, and what belongs to processes that run
_UPLOADS = "uploads"  # sources that wait to be loaded; as what begins with a point, they pass by
_PARTIAL = ".partial"


def backup(folder: Path, to: Path) -> int:
    """Copy a folder while it is used, all or nothing; the number of entries that were proven in the copy.

    The ledger is copied first, and what its entries name after it. Nobody loads a table meanwhile.
    """
    to, made = _begin(to)
    with PolicyFile(folder).locked():
        _copy(folder, made)
    entries = _proven(made)
    made.rename(to)
    _sync(to.parent)
    return entries


def restore(copy: Path, folder: Path, *, anchor: Path | str | None = None, weak_anchor: bool = False) -> bool:
    """Make a folder of a backup, all or nothing; whether its anchor has seen more, which is then counted as spent."""
    from dither.ledger import Ledger

    if not (copy / "ledger.key").exists():
        raise PolicyError(f"{copy} is no backup of a curator's folder.")
    folder, made = _begin(folder)
    _copy(copy, made)
    _proven(made)
    made.rename(folder)
    _sync(folder.parent)
    try:
        Ledger.open(folder, anchor=anchor, weak_anchor=weak_anchor).close()
    except LedgerCorrupt:
        Ledger.restore(folder, anchor=anchor, weak_anchor=weak_anchor)
        return True
    except LedgerError:  # its anchor is not there: nothing was opened, and nothing stays
        folder.rename(made)
        shutil.rmtree(made)
        raise
    return False


def _begin(to: Path) -> tuple[Path, Path]:
    """Where a copy goes, and where it is until it is whole: what was left of one that was cut short goes."""
    to = to.absolute()
    if to.exists():
        raise PolicyError(f"{to} exists already; a copy is written to a new folder.")
    made = to.with_name(to.name + _PARTIAL)
    if made.exists():
        shutil.rmtree(made)
    made.mkdir(mode=0o700)
    return to, made


def _copy(folder: Path, to: Path) -> None:
    for path in sorted(_files(folder), key=lambda path: (path.name != "ledger.sqlite", path)):
        target = to / path.relative_to(folder)
        for parent in reversed(target.relative_to(to).parents[:-1]):
            (to / parent).mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if path.suffix == ".sqlite":
                with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copied:
                    source.backup(copied)
            else:
                with path.open("rb") as read, os.fdopen(os.dup(descriptor), "wb") as written:
                    shutil.copyfileobj(read, written)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    for place in [to, *(path for path in to.rglob("*") if path.is_dir())]:
        _sync(place)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        within = path.relative_to(folder)
        passing = within.parts[0] == _UPLOADS or any(part.startswith(".") for part in within.parts)
        if path.is_file() and not passing and not path.name.endswith(_LEFT_OUT):
            yield path


def _proven(folder: Path) -> int:
    """Every entry and answer of a copy; 0 where the ledger is in a database, which has backups of its own."""
    from dither.ledger.page import load
    from dither.ledger.storage.files import Folder
    from dither.ledger.verify import verify_page

    place = Folder(folder)
    if not place.database.exists():
        return 0
    store = place.store()
    try:
        with store.transaction(write=False) as connection:
            return verify_page(load(connection, place.read_key()), place)
    finally:
        store.stop("")
        for rest in ("-wal", "-shm"):
            place.database.with_name(place.database.name + rest).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
