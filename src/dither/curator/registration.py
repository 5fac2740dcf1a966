"""Tables come and go: load, refresh, drop. Budgets belong to people and are never touched here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting import PureDP
from dither.curator.budgets import Budget, budget_from
from dither.errors import LoadWarning, PolicyError, TableExists
from dither.exact.digits import counted
from dither.policy.catalog import PublicTable, Table, engine_of
from dither.policy.limits import Limits
from dither.policy.names import schema_name
from dither.policy.shape import Shape
from dither.policy.store import Policy, PolicyFile
from dither.policy.tables import linked

if TYPE_CHECKING:
    from dither.engines.protocol import LoadReport, Progress
    from dither.engines.routing import Engines
    from dither.ledger import Ledger


_LARGE_EPSILON = 10
_FAR_BELOW = 10  # times smaller


@dataclass(frozen=True)
class Registrar:
    """Loads tables into an engine and keeps their declarations; the ledger remembers every load."""

    policy: PolicyFile
    engine: Engines
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
            self.engine.has(table, engine_of([table]))  # refused while its engine is away: it could delete nothing
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

    def call_schema(self, name: str) -> str:
        """What may stand before the names of all tables, from the next question on."""
        with self.policy.locked():
            self._switch(replace(self.policy.read(), schema=schema_name(name)))
        return name

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
            table = replace(table, labels={}, shape=Shape())  # those of the snapshot before this one
        # The number is taken before the load, so that not even a failed load can give one out twice.
        counted = replace(declared, last_snapshot=_next_snapshot(declared.last_snapshot, self.ledger))
        self.policy.write(counted)
        fresh = replace(table, snapshot=counted.last_snapshot)
        report = self.engine.load(fresh, source, strict=strict, progress=progress, parent=parent)
        loaded: Table | PublicTable = fresh
        try:
            if isinstance(fresh, Table):
                loaded = replace(fresh, owner_type=self.engine.owner_type(fresh))
            else:
                loaded = replace(fresh, labels=self.engine.labels(fresh), shape=self.engine.shape(fresh))
            if opening is not None:
                opening()
            self.ledger.record(event, {**_event(loaded), "snapshot": str(loaded.snapshot)})
            self._switch(self._gathered(counted.with_table(loaded)))
        except BaseException:
            # A snapshot that no declaration names would be a forgotten copy of personal data.
            if self.policy.read().named(loaded.name) != loaded:
                self.engine.drop(loaded)
            raise
        if isinstance(loaded, Table):
            report = with_budget(report, budget_from(self.ledger.terms(loaded.people, None)))
        warn(loaded.name, report)
        return report

    def copy(self, name: str, to: str, *, progress: Progress | None = None) -> list[str]:
        """Move a table to another engine, with those that it is tied to by foreign keys; their names.

        The snapshots stay what they are, number, rows and ranks, so that answers and profiles stay paid for. Until the
        declarations name the new place nothing else does, and from then on nothing names the old one.
        """
        with self.policy.locked():
            declared = self.policy.read()
            tied = [table for table in _tied(declared, declared.catalog().table(name)) if table.engine != to]
            if not tied:
                raise PolicyError(f"table {name!r} is on {to} already.")
            moved: list[Table] = []
            try:
                moved += [self.engine.move(table, to, progress) for table in tied]
                for table in moved:
                    self.ledger.record("copy", {**_event(table), "engine": to, "snapshot": str(table.snapshot)})
                    declared = declared.with_table(table)
                self._switch(self._gathered(declared))
            except BaseException:
                for table in tied:
                    if self.policy.read().named(table.name) == table:
                        self.engine.drop(replace(table, engine=to))
                raise
        return [table.name for table in moved]

    def _gathered(self, declared: Policy) -> Policy:
        """With public tables where private ones are, and what it takes to open those engines.

        Engines are remembered for good: what is left on one that no table is on any more has to be deleted there.
        """
        self.engine.gather([*declared.tables.values(), *declared.public.values()])
        used = {table.engine for table in declared.tables.values()}
        return replace(declared, engines={**declared.engines, **self.engine.declarations(used)})

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


def _tied(declared: Policy, table: Table) -> list[Table]:
    """The table, and all that foreign keys tie to it: parents before those that find their owners in them."""
    names, before = {table.name}, set[str]()
    while names != before:
        before = set(names)
        for other in declared.tables.values():
            if other.via is not None and {other.name, other.via.table} & names:
                names |= {other.name, other.via.table}
    return [other for name, other in declared.tables.items() if name in names]


def _there_already(table: Table | PublicTable, there: Table | PublicTable) -> TableExists:
    same = replace(there, snapshot=table.snapshot)
    if isinstance(same, Table) and isinstance(table, Table):
        same = replace(same, owner_type=table.owner_type, parent_snapshot=table.parent_snapshot)
    elif isinstance(same, PublicTable):
        same = replace(same, labels={}, shape=Shape())
    return TableExists(there.name, alike=same == table)


def _event(table: Table | PublicTable) -> dict[str, str]:
    whose = {"people": table.people} if isinstance(table, Table) else {}
    return {"table": table.name, **whose}


def _next_snapshot(known: int, ledger: Ledger) -> int:
    """A number above all that were ever given out: a policy file restored from a backup may know fewer.

    Where entries were lost, each can have been a load: the numbers go on behind as many.
    """
    newest = ledger.events(["register", "refresh"], most=1)  # numbers only grow, so this one has the highest
    recorded = max((int(str(entry.body.get("snapshot"))) for entry in newest), default=0)
    last = max((entry.sequence for entry in newest), default=0)
    lost = max((entry.sequence - last for entry in ledger.desk.decisions("restore")), default=0)
    return max(known, recorded) + max(lost, 0) + 1


def with_budget(report: LoadReport, budget: Budget) -> LoadReport:
    """The report with what is wrong with the people's budget for so many owners."""
    return replace(report, about_budget=tuple(_about(budget, report.owners)))


def warn(table: str, report: LoadReport) -> None:
    """All that is loud in a report, at once, where `Curator.register` or `Curator.refresh` was called."""
    if report.warnings:
        said = "; ".join(report.warnings)
        warnings.warn(f"table {table!r}: {said}. Keep this from analysts: it is exact.", LoadWarning, stacklevel=5)


def _about(budget: Budget, owners: int) -> list[str]:
    found = []
    epsilon = Fraction(budget.epsilon)
    if epsilon > _LARGE_EPSILON:
        found.append(
            f"epsilon {float(epsilon):g} of the budget is above {_LARGE_EPSILON}: once it is spent, little protects a "
            f"person from a well-informed guess (odds may change by e^{float(epsilon):g})"
        )
    delta = Fraction(0) if isinstance(budget, PureDP) else Fraction(budget.delta)
    if delta * owners * _FAR_BELOW > 1:
        found.append(
            f"delta {float(delta):g} of the budget is not far below 1 in {counted(owners, 'owner')}: it would allow "
            f"publishing somebody's rows outright with probability {float(min(Fraction(1), delta * owners)):.2g}"
        )
    return found
