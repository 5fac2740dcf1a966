"""Tables come and go: declare, load, refresh, drop. Budgets belong to people and are never touched here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.columns import Column
from dither.errors import PolicyError
from dither.parameters import whole
from dither.policy import Policy, PolicyFile
from dither.sql.catalog import Table

if TYPE_CHECKING:
    from dither.engines.protocol import Engine, LoadReport, Progress
    from dither.ledger import Ledger

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


def register(
    policy: PolicyFile,
    engine: Engine,
    ledger: Ledger,
    table: Table,
    source: Any,
    *,
    strict: bool,
    progress: Progress | None,
    opening: Callable[[], None] | None = None,
) -> LoadReport:
    """Load a new table; `opening` makes its people's account once data are in. Nothing is kept if anything fails."""
    with policy.locked():
        declared = policy.read()
        for name in declared.tables:
            if name.lower() == table.name.lower():
                raise PolicyError(f"table {name!r} is registered already; use refresh for new data, or drop it first.")
        return _load(policy, declared, engine, ledger, "register", table, source, strict, progress, opening)


def refresh(
    policy: PolicyFile,
    engine: Engine,
    ledger: Ledger,
    name: str,
    source: Any,
    *,
    strict: bool,
    progress: Progress | None,
) -> LoadReport:
    """Load new data under the same declaration. The old snapshot is dropped once the new one is in place."""
    with policy.locked():
        declared = policy.read()
        old = policy.catalog().table(name)
        return _load(policy, declared, engine, ledger, "refresh", old, source, strict, progress)


def drop(policy: PolicyFile, engine: Engine, ledger: Ledger, name: str) -> None:
    """Forget a table and delete its snapshot; what was spent stays spent."""
    with policy.locked():
        table = policy.catalog().table(name)
        ledger.record("drop", {"table": table.name, "people": table.people})
        _switch(policy, engine, policy.read().without_table(table.name))


def declare(name: str, people: str, owner: str, max_rows_per_owner: int, columns: Mapping[str, Column]) -> Table:
    """A table's declaration, checked as far as it can be without data."""
    from dither.ledger.names import canonical_name

    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PolicyError(f"a table name starts with a letter and has letters, digits and _; got {name!r}.")
    if not columns:
        raise PolicyError(f'table {name!r} declares no columns; for example columns={{"age": dt.Int(0, 120)}}.')
    seen: set[str] = set()
    for column, kind in columns.items():
        if not isinstance(column, str) or not _NAME.fullmatch(column):
            raise PolicyError(f"a column name starts with a letter and has letters, digits and _; got {column!r}.")
        if column.lower() in seen:
            raise PolicyError(f"column {column!r} is declared twice (names are matched without regard to case).")
        seen.add(column.lower())
        if not isinstance(kind, Column):
            raise PolicyError(
                f"column {column!r} needs a declaration such as dt.Int(0, 120); got {type(kind).__name__}."
            )
    if not isinstance(owner, str) or not owner:
        raise PolicyError(f"table {name!r} needs owner=, the column that says whose row it is.")
    rows = whole(max_rows_per_owner, "max_rows_per_owner", most=2**31 - 1)
    return Table(name, canonical_name(people, "people"), owner, rows, dict(columns))


def _load(
    policy: PolicyFile,
    declared: Policy,
    engine: Engine,
    ledger: Ledger,
    event: str,
    table: Table,
    source: Any,
    strict: bool,
    progress: Progress | None,
    opening: Callable[[], None] | None = None,
) -> LoadReport:
    # The number is taken before the load, so that not even a failed load can give one out twice.
    counted = replace(declared, last_snapshot=max(declared.last_snapshot, _last_recorded(ledger)) + 1)
    policy.write(counted)
    fresh = replace(table, snapshot=counted.last_snapshot)
    report = engine.load(fresh, source, strict=strict, progress=progress)
    try:
        if opening is not None:
            opening()
        ledger.record(event, {"table": fresh.name, "people": fresh.people, "snapshot": str(fresh.snapshot)})
        _switch(policy, engine, counted.with_table(fresh))
    except BaseException:
        # A snapshot that no declaration names would be a forgotten copy of personal data.
        if policy.read().tables.get(fresh.name) != fresh:
            engine.drop(fresh)
        raise
    return report


def _switch(policy: PolicyFile, engine: Engine, declared: Policy) -> None:
    """Make declarations current and delete every snapshot they do not name, those of a killed load included."""
    with policy.changing():
        policy.write(declared)
        engine.keep_only(declared.tables.values())


def _last_recorded(ledger: Ledger) -> int:
    """The highest snapshot number that the ledger knows: a policy file restored from a backup may know fewer."""
    numbers = (entry.body.get("snapshot") for entry in ledger.entries() if entry.kind in ("register", "refresh"))
    return max((int(str(number)) for number in numbers), default=0)
