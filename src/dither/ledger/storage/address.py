"""Where a ledger and its anchor are: in the curator's folder, or where an address says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import LedgerCorrupt, LedgerError, ParameterError
from dither.lazy import missing_extra
from dither.ledger.storage.anchor import Anchor
from dither.ledger.storage.files import Folder
from dither.ledger.storage.protocol import Marks, Place

if TYPE_CHECKING:
    from dither.ledger.storage.postgres.place import Database

IN_THE_FOLDER = "folder"
_SCHEMES = ("postgresql://", "postgres://")


def is_address(text: object) -> bool:
    """Whether it names a database, rather than a file."""
    return isinstance(text, str) and text.startswith(_SCHEMES)


def place_of(folder: Path, ledger: str | None = None) -> Place:
    """The place of a folder's ledger: the folder remembers the address that it was made with."""
    here = Folder(folder)
    known = _known(here)
    if ledger is None:
        return here if known is None else database_of(folder, known)
    if not is_address(ledger):
        raise ParameterError.of("ledger", "is the address of a PostgreSQL database: postgresql://HOST/DATABASE.")
    if known is None and here.database.exists():
        raise LedgerError(f"{folder} has a ledger of its own; move it with `dither ledger copy`.")
    if known not in (None, ledger):
        raise LedgerError(f"{folder} has its ledger at another address.")
    return database_of(folder, ledger)


def target_of(folder: Path, to: str) -> Place:
    """Where a ledger should move to."""
    here = Folder(folder)
    known = _known(here)
    if to == IN_THE_FOLDER:
        if known is None:
            raise LedgerError(f"the ledger of {folder} is in the folder already.")
        return here
    if not is_address(to):
        raise ParameterError.of("to", f"is the address of a PostgreSQL database, or {IN_THE_FOLDER!r}.")
    if known == to:
        raise LedgerError(f"the ledger of {folder} is at that address already.")
    return database_of(folder, to)


def database_of(folder: Path, address: str) -> Database:
    """The place of a ledger in PostgreSQL; its driver is an extra."""
    try:
        from dither.ledger.storage.postgres.place import Database
    except ImportError as error:
        raise ParameterError(missing_extra("a ledger in PostgreSQL needs", "postgres", error)) from None
    return Database(folder, address)


def known_address(folder: Path) -> str | None:
    """Where the ledger of a folder is, if it is elsewhere."""
    return _known(Folder(folder))


def _known(folder: Folder) -> str | None:
    """The address that a folder remembers."""
    try:
        found = json.loads(folder.address.read_bytes())
        if found["format"] == 1 and is_address(found["ledger"]):
            return str(found["ledger"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise LedgerCorrupt(f"{folder.address} is damaged, or was written by a newer dither.")


def anchor_of(place: Place, anchor: Path | str | None, key: bytes, *, weak: bool = False) -> tuple[Marks, str]:
    """The anchor of a ledger, and whether that is its own. One in the ledger's cluster goes back in time with it."""
    if not is_address(anchor):
        path = place.anchor if anchor is None else Path(anchor)
        return Anchor(path, key), "its own" if path.absolute() == place.anchor.absolute() else "an external"
    database_of(place.path, str(anchor))  # says if the driver is missing
    from dither.ledger.storage.postgres.anchor import RowAnchor
    from dither.ledger.storage.postgres.place import Database

    row = RowAnchor(str(anchor), key)
    if isinstance(place, Database) and not weak and place.cluster() == row.store.cluster():
        raise LedgerError(
            "the anchor is in the same PostgreSQL cluster as the ledger: whoever restores one from a backup restores "
            "the other, and what was spent since is forgotten. Name a database of another cluster or a file, or accept "
            "it with --weak-anchor."
        )
    return row, "an external"
