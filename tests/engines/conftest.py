from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.protocol import LoadReport
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import Table
from dither.policy.columns import Column
from dither.policy.structure import Structure
from dither.sql.lowering.statement import Statement, schema_name
from dither.sql.plan.nodes import Key


class Loaded:
    """A loaded table, and plain reads of what is stored and answered."""

    def __init__(self, engine: DuckDBEngine, table: Table, report: LoadReport, folder: Path) -> None:
        self.engine, self.table, self.report, self.folder = engine, table, report, folder

    @property
    def path(self) -> Path:
        return self.folder / f"{self.table.name}-{self.table.snapshot:06d}.duckdb"

    def rows(self, what: str = "*", where: str = "true") -> list[tuple[Any, ...]]:
        self.engine.close()
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return connection.execute(f"SELECT {what} FROM rows WHERE {where}").fetchall()

    def ask(self, sql: str, keys: tuple[Key, ...] = (), measures: int = 1) -> list[Any]:
        generated = sql.replace('FROM "rows"', f'FROM "{schema_name(self.table)}"."rows"')
        sealed = self.engine.run(Statement((self.table,), generated, keys, measures))
        return [_unseal(one) for one in sealed]

    def one(self, sql: str) -> int:
        return int(self.ask(sql)[0][0])


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Loaded]:
    """Load a source into a fresh engine."""
    count = 0

    def loading(
        source: Any,
        columns: dict[str, Column],
        *,
        owner: str = "id",
        most: int = 10,
        threads: int | None = None,
        structure: Structure | None = None,
        **options: Any,
    ) -> Loaded:
        nonlocal count
        count += 1
        folder = tmp_path / f"snapshots{count}"
        if (key := tmp_path / "rank.key").exists():  # one key in a test, so that loads can be compared
            folder.mkdir(mode=0o700)
            (folder / "rank.key").write_bytes(key.read_bytes())
            (folder / "rank.key").chmod(0o600)
        engine = DuckDBEngine(folder, threads=threads)
        table = Table("t", "people", owner, most, columns, snapshot=1, structure=structure or Structure())
        report = engine.load(table, source, **options)
        key.write_bytes((folder / "rank.key").read_bytes())
        return Loaded(engine, table, report, folder)

    return loading
