"""Where snapshots are: a folder of Parquet files each, in one that this process and all executors see by one path.

A snapshot has its name only when it is whole. Its rows are sorted by rank within each file, so that `_rank <= K` passes
over whole row groups.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dither.engines.duckdb.spill import LOADING, make_folder, remove_abandoned
from dither.engines.protocol import Stored
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER, RANK

ROW_GROUP = 8 * 2**20  # bytes: several in a file, of which those of higher ranks are passed over
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SNAPSHOT = re.compile(r"[a-z][a-z0-9_]*-[0-9]{6,}")
_DROPPED = ".dropped"
OWNER_TYPES = {"BIGINT": "BIGINT", "VARCHAR": "STRING"}  # as declarations say it, and as Spark does


def stored_columns(table: Table | PublicTable, owner_type: str = "") -> dict[str, str]:
    """The columns of a snapshot, in their order, with their types."""
    if isinstance(table, PublicTable):
        return {name: SPARK.stored(column) for name, column in table.stored.items()}
    columns = {name: SPARK.stored(column) for name, column in table.columns.items()}
    return {OWNER: OWNER_TYPES[owner_type or table.owner_type], **columns, RANK: "INT"}


def described(columns: dict[str, str]) -> str:
    """Columns as a schema that Spark reads."""
    return ", ".join(f"{SPARK.name(name)} {kind}" for name, kind in columns.items())


def write(frame: Any, path: Path, *, append: bool = False) -> None:
    """A frame's rows as Parquet files, each sorted by rank where there are ranks."""
    ordered = frame.sortWithinPartitions(RANK) if RANK in frame.columns else frame
    written = ordered.write.mode("append" if append else "error").option("parquet.block.size", ROW_GROUP)
    written.option("compression", "zstd").parquet(str(path))


class Warehouse:
    """The folder of all snapshots."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(folder).absolute()

    def path(self, table: Table | PublicTable) -> Path:
        if not _NAME.fullmatch(table.name):
            raise PolicyError(f"a table name starts with a letter and has letters, digits and _; got {table.name!r}.")
        return self._folder / f"{table.name.lower()}-{table.snapshot:06d}"

    def has(self, table: Table | PublicTable) -> bool:
        return self.path(table).is_dir()

    def stored(self, table: Table | PublicTable) -> Stored | None:
        """All files of a snapshot."""
        if not self.has(table):
            return None
        found = [path.stat() for path in self.path(table).rglob("*") if path.is_file()]
        return Stored(sum(file.st_size for file in found), int(self.path(table).stat().st_mtime))

    def dataset(self, table: Table | PublicTable) -> Any:
        """A snapshot's files, read without Spark."""
        import pyarrow as pa
        from pyarrow import dataset

        try:
            return dataset.dataset(self.path(table), format="parquet")
        except (OSError, pa.ArrowException):
            raise PolicyError(f"the snapshot of {table.name!r} cannot be read; refresh its table.") from None

    @contextmanager
    def working(self, table: Table | PublicTable) -> Iterator[Path]:
        """A private folder for one load of a table that has no such snapshot yet; removed afterwards."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
        except OSError as error:
            raise PolicyError(f"the warehouse {self._folder} cannot be used: {error.strerror}.") from None
        if self.has(table):
            raise PolicyError(
                f"table {table.name!r} has a snapshot {table.snapshot} already; a snapshot never changes."
            )
        remove_abandoned(self._folder)
        work, lock = make_folder(self._folder, LOADING)
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)
            os.close(lock)

    def publish(self, written: Path, table: Table | PublicTable) -> None:
        """Durable before it is visible, and visible whole or not at all."""
        for path in [*written.rglob("*"), written]:
            _sync(path)
        os.rename(written, self.path(table))
        _sync(self._folder)

    def drop(self, table: Table | PublicTable) -> None:
        self._remove(self.path(table))

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete all other snapshots, and what a killed load left behind."""
        kept = {self.path(table) for table in tables}
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                if _SNAPSHOT.fullmatch(path.name) and path not in kept:
                    self._remove(path)
                elif path.name.endswith(_DROPPED):
                    shutil.rmtree(path, ignore_errors=True)
            remove_abandoned(self._folder)

    def _remove(self, path: Path) -> None:
        """Its name goes first: half a snapshot is none."""
        if path.is_dir():
            gone = path.with_name(f".{path.name}{_DROPPED}")
            shutil.rmtree(gone, ignore_errors=True)
            os.rename(path, gone)
            shutil.rmtree(gone, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
