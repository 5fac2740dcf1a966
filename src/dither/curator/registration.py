"""Tables come and go: load, refresh, drop. Budgets belong to people and are never touched here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dither.curator.budgets import budget_from
from dither.curator.load_warnings import warn, with_budget
from dither.errors import PolicyError, TableExists
from dither.policy.catalog import PublicTable, Table
from dither.policy.limits import Limits
from dither.policy.store import Policy, PolicyFile
from dither.policy.tables import linked

if TYPE_CHECKING:
    from dither.engines.protocol import Engine, LoadReport, Progress
    from dither.ledger import Ledger


@dataclass(frozen=True)
class Registrar:
    """Loads tables into an engine and keeps their declarations; the ledger remembers every load."""

    policy: PolicyFile
    engine: Engine
    ledger: Ledger

    def register(
        self,
        table: Table | PublicTable,
        source: Any,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        opening: Callable[[], None] | None = None,
    ) -> LoadReport:
        """Load a new table; `opening` makes its people's account once data are in.

        If anything fails, nothing is kept.
        """
        with self.policy.locked():
            declared = self.policy.read()
            if isinstance(table, Table):
                table = linked(table, declared.catalog())
            known: list[Table | PublicTable] = [*declared.tables.values(), *declared.public.values()]
            for there in known:
                if there.name.lower() == table.name.lower():
                    raise _there_already(table, there)
            return self._load("register", declared, table, source, strict, progress, opening)

    def refresh(self, name: str, source: Any, *, strict: bool = False, progress: Progress | None = None) -> LoadReport:
        """Load new data under the same declaration. The old snapshot is dropped once the new one is in place."""
        with self.policy.locked():
            declared = self.policy.read()
            return self._load("refresh", declared, declared.catalog().find(name), source, strict, progress)

    def drop(self, name: str) -> None:
        """Forget a table and delete its snapshot; what was spent stays spent."""
        with self.policy.locked():
            declared = self.policy.read()
            table = declared.catalog().find(name)
            below = [other.name for other in declared.tables.values() if other.via and other.via.table == table.name]
            if below:
                raise PolicyError(f"{', '.join(below)} find their owners in {table.name!r}; drop them first.")
            self.ledger.record("drop", _event(table))
            self._switch(declared.without_table(table.name))

    def limit(self, limits: Limits) -> Limits:
        """Set what one question may take."""
        if not isinstance(limits, Limits):
            raise PolicyError(f"limits are stated as dt.Limits(max_cells=...); got {type(limits).__name__}.")
        with self.policy.locked():
            stated = {name: str(value) for name, value in limits.declaration().items()}
            self.ledger.record("limits", stated)
            self._switch(replace(self.policy.read(), limits=limits))
        return limits

    def _load(
        self,
        event: str,
        declared: Policy,
        table: Table | PublicTable,
        source: Any,
        strict: bool,
        progress: Progress | None,
        opening: Callable[[], None] | None = None,
    ) -> LoadReport:
        parent = declared.tables[table.via.table] if isinstance(table, Table) and table.via else None
        if isinstance(table, Table):
            found_in = parent.snapshot if parent else 0
            table = replace(table, owner_type=self._expected_owner_type(table, declared), parent_snapshot=found_in)
        else:
            table = replace(table, labels={})  # those of the snapshot before this one
        # The number is taken before the load, so that not even a failed load can give one out twice.
        counted = replace(declared, last_snapshot=max(declared.last_snapshot, _last_recorded(self.ledger)) + 1)
        self.policy.write(counted)
        fresh = replace(table, snapshot=counted.last_snapshot)
        report = self.engine.load(fresh, source, strict=strict, progress=progress, parent=parent)
        loaded: Table | PublicTable = fresh
        try:
            if isinstance(fresh, Table):
                loaded = replace(fresh, owner_type=self.engine.owner_type(fresh))
            else:
                loaded = replace(fresh, labels=self.engine.labels(fresh))
            if opening is not None:
                opening()
            self.ledger.record(event, {**_event(loaded), "snapshot": str(loaded.snapshot)})
            self._switch(counted.with_table(loaded))
        except BaseException:
            # A snapshot that no declaration names would be a forgotten copy of personal data.
            if self.policy.read().named(loaded.name) != loaded:
                self.engine.drop(loaded)
            raise
        if isinstance(loaded, Table):
            report = with_budget(report, budget_from(self.ledger.terms(loaded.people, None)))
        warn(loaded.name, report)
        return report

    def _expected_owner_type(self, table: Table, declared: Policy) -> str:
        """How the people's tables store owners, this one before a refresh too; empty if there is none: any will do."""
        if table.row_level:
            return ""
        for other in declared.tables.values():
            if other.people == table.people and not other.row_level:
                return other.owner_type or self.engine.owner_type(other)
        return ""

    def _switch(self, declared: Policy) -> None:
        """Make declarations current and delete every snapshot they do not name, those of a killed load included."""
        with self.policy.exclusive():
            self.policy.write(declared)
            self.engine.keep_only([*declared.tables.values(), *declared.public.values()])


def _there_already(table: Table | PublicTable, there: Table | PublicTable) -> TableExists:
    same = replace(there, snapshot=table.snapshot)
    if isinstance(same, Table) and isinstance(table, Table):
        same = replace(same, owner_type=table.owner_type, parent_snapshot=table.parent_snapshot)
    elif isinstance(same, PublicTable):
        same = replace(same, labels={})
    return TableExists(there.name, alike=same == table)


def _event(table: Table | PublicTable) -> dict[str, str]:
    whose = {"people": table.people} if isinstance(table, Table) else {}
    return {"table": table.name, **whose}


def _last_recorded(ledger: Ledger) -> int:
    """The highest snapshot number that the ledger knows: a policy file restored from a backup may know fewer."""
    newest = ledger.events(["register", "refresh"], most=1)  # numbers only grow, so this one has the highest
    return max((int(str(entry.body.get("snapshot"))) for entry in newest), default=0)
