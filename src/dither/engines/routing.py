"""Several engines as one: each private table is on one of them, and public tables are wherever private ones are.

DuckDB, the home, has all public tables; an engine that has private ones has copies of all of them too. So a question
whose private tables are on one engine can be answered there, and which one that is follows from declarations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.engines.protocol import Holder, Home, LoadReport, Progress, Statement, Stored
from dither.engines.settings import EngineSettings, settings_from
from dither.errors import PolicyError
from dither.mechanisms.sealed_values import Exact
from dither.policy.catalog import HOME, PublicTable, Table, engine_of
from dither.policy.limits import Limits
from dither.policy.shape import Shape
from dither.sql.lowering.dialect import Dialect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Known = Callable[[], Mapping[str, Mapping[str, str]]]  # the engines that the folder remembers


class Engines:
    """The engines of one curator; one beside the home is opened when it is first needed."""

    def __init__(
        self,
        home: Home,
        folder: Path,
        limits: Callable[[], Limits] = Limits,
        given: Mapping[str, EngineSettings] | None = None,
        known: Known = dict,
    ) -> None:
        self.home, self._folder, self._limits = home, folder, limits
        self._given, self._known = dict(given or {}), known
        self._open: dict[str, tuple[EngineSettings, Holder]] = {}
        self._ahead = 1
        if HOME in self._given:
            raise PolicyError(f"{HOME!r} is always there; name other engines in engines=.")

    def named(self, name: str) -> Holder:
        """The engine of that name."""
        if name == HOME:
            return self.home
        settings = self._settings(name)
        if settings is None:
            raise PolicyError(
                f"there is no engine {name!r} here; known are: {', '.join(self.names)}. Open the curator with "
                f"engines={{{name!r}: ...}}."
            )
        known, holder = self._open.get(name, (None, None))
        if holder is None or known != settings:
            fresh = settings.open(self._folder, self._limits)
            fresh.charge_ahead(self._ahead)
            self._open[name] = settings, fresh  # what another thread has opened meanwhile closes when it is let go of
            return fresh
        return holder

    def _settings(self, name: str) -> EngineSettings | None:
        if name in self._given:
            return self._given[name]
        remembered = self._known().get(name)
        return None if remembered is None else settings_from(remembered)

    @property
    def names(self) -> list[str]:
        """Those that a table can be put on."""
        return [HOME, *sorted({*self._given, *self._known()})]

    def declarations(self, names: Collection[str]) -> dict[str, Mapping[str, str]]:
        """What the folder should remember of engines by these names."""
        found = ((name, self._settings(name)) for name in sorted(set(names) - {HOME}))
        stated = ((name, None if settings is None else settings.declaration()) for name, settings in found)
        return {name: declared for name, declared in stated if declared is not None}

    # Snapshots

    def load(
        self,
        table: Table | PublicTable,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        parent: Table | None = None,
    ) -> LoadReport:
        """Into the engine of the table, where its parent must be too: a foreign key is followed within one engine."""
        on = engine_of([table])
        if parent is not None and parent.engine != on:
            raise PolicyError(
                f"table {table.name!r} would be on {on}, and {parent.name!r}, in which it finds its owners, is on "
                f"{parent.engine}; name the same engine."
            )
        # A public table is at home, which reads those as well.
        holder: Any = self.named(on)
        report: LoadReport = holder.load(table, source, strict=strict, progress=progress, parent=parent)
        return report

    def move(self, table: Table, to: str, progress: Progress | None = None) -> Table:
        """Copy a table's snapshot to another engine. It is the same snapshot: each row with its owner and its rank."""
        from dataclasses import replace

        moved, target = replace(table, engine=to), self.named(to)
        target.drop(moved)  # what a killed move has left
        with self.named(table.engine).rows(table) as rows:
            target.store(moved, rows, progress)
        return moved

    def gather(self, tables: Collection[Table | PublicTable]) -> None:
        """Copy public tables to every engine that stores private ones, as far as they are not there."""
        public = [table for table in tables if isinstance(table, PublicTable)]
        for name in sorted({table.engine for table in tables if isinstance(table, Table)} - {HOME}):
            for table in public if self.named(name).stores else []:
                if not self.named(name).has(table):
                    with self.home.rows(table) as rows:
                        self.named(name).store(table, rows)

    def stores(self, table: Table) -> bool:
        """Whether its rows stay what they are until it is refreshed."""
        return self.named(table.engine).stores

    def owner_type(self, table: Table) -> str:
        return self.named(table.engine).owner_type(table)

    def labels(self, table: PublicTable) -> dict[str, tuple[str, ...]]:
        return self.home.labels(table)

    def shape(self, table: PublicTable) -> Shape:
        return self.home.shape(table)

    def has(self, table: Table | PublicTable, on: str) -> bool:
        """Whether the table's snapshot is on that engine."""
        return self.named(on).has(table)

    def stored(self, table: Table | PublicTable, on: str) -> Stored | None:
        """How the table's snapshot lies on that engine; None if there is none."""
        return self.named(on).stored(table)

    def drop(self, table: Table | PublicTable) -> None:
        """Delete a snapshot wherever it is."""
        for name in [table.engine] if isinstance(table, Table) else [HOME, *self._open]:
            self.named(name).drop(table)

    def keep_only(self, tables: Collection[Table | PublicTable]) -> None:
        """Delete all snapshots that no engine should have: those of other tables, and of tables that are elsewhere."""
        for name in self.names:
            own = [table for table in tables if isinstance(table, Table) and table.engine == name]
            public = [table for table in tables if isinstance(table, PublicTable)]
            self.named(name).keep_only([*own, *(public if own or name == HOME else [])])

    # Statements

    def dialect_of(self, on: str) -> Dialect:
        """In which statements for an engine are written."""
        return self.named(on).dialect

    def warm(self) -> None:
        self.home.warm()

    def slot(
        self, analyst: str | None = None, on: str = HOME, patience: float | None = None
    ) -> AbstractContextManager[object]:
        return self.named(on).slot(analyst, patience)

    def charge_ahead(self, times: int) -> None:
        self._ahead = times
        for holder in (self.home, *(opened for _, opened in self._open.values())):
            holder.charge_ahead(times)

    def place(self, analyst: str | None = None, on: str = HOME) -> AbstractContextManager[object]:
        return self.named(on).place(analyst)

    def run(self, statement: Statement) -> Sequence[Exact]:
        """By the engine that the statement's private tables are on."""
        return self.named(engine_of(statement.tables)).run(statement)

    def compute(self, sql: str, tables: Mapping[str, Any], most: int) -> Any:
        return self.home.compute(sql, tables, most)

    def public_rows(self, table: PublicTable) -> Any:
        return self.home.public_rows(table)

    def listed(self, statement: Statement) -> NDArray[np.bool_]:
        return self.home.listed(statement)

    def close(self) -> None:
        for holder in (self.home, *(opened for _, opened in self._open.values())):
            holder.close()
