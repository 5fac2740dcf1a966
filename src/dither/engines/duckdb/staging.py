"""A folder for one load, in which a snapshot is finished before anybody sees it; other engines begin here too.

So every engine has the same rows with the same ranks, and the key of ranks never leaves this process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dither.engines.duckdb.snapshots.loading import Settings
from dither.engines.duckdb.snapshots.public_snapshot import write_public
from dither.engines.duckdb.snapshots.rank import secret_key
from dither.engines.duckdb.snapshots.snapshot import write_snapshot
from dither.engines.duckdb.spill import LOADING, make_folder, remove_abandoned
from dither.engines.protocol import LoadReport, Progress
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table

WRITTEN = "rows.duckdb"


@contextmanager
def working(folder: Path) -> Iterator[Path]:
    """A new folder within the one of all snapshots, private and removed afterwards."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise PolicyError(f"the snapshot folder {folder} cannot be used: {error.strerror}.") from None
    remove_abandoned(folder)
    work, lock = make_folder(folder, LOADING)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def write(
    work: Path,
    table: Table | PublicTable,
    source: Any,
    *,
    settings: Settings,
    strict: bool,
    progress: Progress | None,
    parent: Path | None,
) -> LoadReport:
    """Write the snapshot to work/rows.duckdb; `parent` is the file in which a foreign key finds owners."""
    named: dict[str, Any] = {"settings": settings, "strict": strict, "progress": progress}
    if isinstance(table, PublicTable):
        return write_public(table, source, work, **named)
    return write_snapshot(table, source, work, key=secret_key(work.parent / "rank.key"), parent=parent, **named)
