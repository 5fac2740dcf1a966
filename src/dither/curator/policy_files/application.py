"""Makes what a policy file declares, as far as it is not there yet. Everything is checked before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dither.curator.budgets import Budget, check_usable, terms_of, together_within
from dither.curator.officer.decisions import Officer
from dither.curator.policy_files.changes import Change, changes
from dither.curator.policy_files.reading import Plan, PlannedAccount, PlannedTable
from dither.engines.duckdb.sources.sources import check_columns, delimited, source_names
from dither.errors import PolicyError
from dither.ledger.officer.refusals import SignatureRefused
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Coded, Column
from dither.policy.names import meant
from dither.policy.tables import linked

if TYPE_CHECKING:
    from dither.engines.protocol import LoadReport, Progress

_TERMS = ("epsilon", "delta", "composition", "oversubscribe")
Accounts = Mapping[tuple[str, str | None], Mapping[str, str]]  # the terms of each


class Declares(Protocol):
    """What is asked of a curator."""

    def people(self, name: str, *, budget: Budget, oversubscribe: bool = False) -> None: ...

    def analyst(self, name: str, *, budget: Budget | None = None, people: str | None = None) -> object: ...

    @property
    def register(self) -> Callable[..., LoadReport]: ...

    @property
    def register_public(self) -> Callable[..., LoadReport]: ...

    def tables(self) -> list[Table | PublicTable]: ...

    def schema(self, name: str | None = None) -> str: ...


@dataclass(frozen=True)
class Applied:
    """What was made, and what was there already."""

    opened: tuple[tuple[str, str | None], ...]  # people, and an analyst or None for the people's own budget
    loaded: dict[str, LoadReport]
    kept: tuple[str, ...]
    changed: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Planned:
    """What applying a file would do."""

    changed: tuple[Change, ...]
    opened: tuple[tuple[str, str | None], ...]
    loaded: tuple[str, ...]
    kept: tuple[str, ...]

    def __str__(self) -> str:
        opened = (people if analyst is None else f"{analyst} (of {people})" for people, analyst in self.opened)
        lines = [*map(str, self.changed), *(f"{name}: budget opened" for name in opened)]
        lines += [f"{name}: loaded" for name in self.loaded]
        return "\n".join(lines) or "nothing changes"

    __repr__ = __str__


@dataclass(frozen=True)
class Changing:
    """That accounts which are there may be changed too: by whom, why, and with the officer's key if anything rises."""

    officer: Officer
    reason: str | None = None
    key: Path | str | None = None


def planned(curator: Declares, plan: Plan, granted: Accounts, officer: Officer) -> Planned:
    """What applying a plan would do, checked as if it were done."""
    found = changes(plan, officer, granted)
    opening, loading, kept = check(plan, curator.tables(), granted, changing=True)
    opened = tuple((account.people, account.analyst) for account in opening)
    return Planned(found, opened, tuple(table.table.name for table in loading), kept)


def apply(
    curator: Declares,
    plan: Plan,
    granted: Accounts,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    changing: Changing | None = None,
) -> Applied:
    """Open the accounts and load the tables that are not there yet; a difference from what is there is refused.

    With `changing`, accounts that are there are changed first: what takes before what gives.
    A table whose load fails leaves those before it in place: applying the corrected file again goes on from there.
    """
    opening, loading, kept = check(plan, curator.tables(), granted, changing=changing is not None)
    made = () if changing is None else _changed(plan, granted, changing)
    if plan.schema is not None and plan.schema != curator.schema():
        curator.schema(plan.schema)
    for account in opening:
        with account.place.naming():
            if account.analyst is None:
                curator.people(account.people, budget=account.budget, oversubscribe=account.oversubscribe)
            else:
                curator.analyst(account.analyst, budget=account.budget, people=account.people)
    loaded = {planned.table.name: _load(curator, planned, strict, progress) for planned in loading}
    return Applied(tuple((account.people, account.analyst) for account in opening), loaded, kept, made)


def _changed(plan: Plan, granted: Accounts, changing: Changing) -> tuple[Change, ...]:
    """Change accounts; nothing is, if anything would rise and there is no key."""
    found = changes(plan, changing.officer, granted)
    if any(change.kind == "raise" for change in found) and changing.key is None:
        raise SignatureRefused("a budget would rise, which needs the officer's signature: give the officer's key.")
    for change in found:
        change.make(changing.officer, changing.reason or "", changing.key)
    return found


def check(
    plan: Plan, registered: list[Table | PublicTable], granted: Accounts, *, changing: bool = False
) -> tuple[list[PlannedAccount], list[PlannedTable], tuple[str, ...]]:
    """The accounts to open, the tables to load and the names of those to keep; refused if anything does not fit."""
    opening = [account for account in plan.accounts if not _granted(account, granted, changing)]
    _check_caps(opening)
    known = {people for people, analyst in granted if analyst is None} | {account.people for account in plan.accounts}
    return opening, *_tables(plan, registered, known)


def _granted(account: PlannedAccount, granted: Accounts, changing: bool) -> bool:
    there = granted.get((account.people, account.analyst))
    if there is None:
        return False
    stated = terms_of(account.budget, oversubscribe=account.oversubscribe)
    if account.analyst is not None and "delta" not in account.place.value:
        stated |= {name: there[name] for name in ("delta",) if name in there}  # whatever share it was given then
    kept = ("budget", "composition", "oversubscribe") if changing else tuple({*stated, *there})
    if [stated.get(name) for name in kept] != [there.get(name) for name in kept]:
        terms = ", ".join(f"{name} {there[name]}" for name in _TERMS if name in there)
        account.place.wrong(
            f"has another budget already, {terms}, and it is changed only by `dither apply`, with a reason."
        )
    return True


def _check_caps(opening: list[PlannedAccount]) -> None:
    """Of people that are not there yet, the caps must fit together; elsewhere the ledger knows what is left."""
    for made in (account for account in opening if account.analyst is None):
        analysts = [account for account in opening if account.people == made.people and account.analyst is not None]
        for account in analysts:
            with account.place.naming():
                check_usable(made.budget, account.budget)
        if not (made.oversubscribe or together_within(made.budget, [account.budget for account in analysts])):
            made.place.wrong(
                "the caps of its analysts together exceed its budget; lower them, or write oversubscribe = true (then "
                "what one analyst may ask depends on what others have spent)."
            )


def _tables(
    plan: Plan, registered: list[Table | PublicTable], people: set[str]
) -> tuple[list[PlannedTable], tuple[str, ...]]:
    """The tables to load, in an order in which each finds the one it refers to, and the names of those to keep."""
    there = {table.name.lower(): table for table in registered}
    waiting = {planned.table.name.lower(): planned for planned in plan.tables}
    if len(waiting) != len(plan.tables):
        raise PolicyError(f"{plan.file}: two tables have the same name (names are matched without regard to case).")
    private = {table.name: table for table in registered if isinstance(table, Table)}
    public = {table.name: table for table in registered if isinstance(table, PublicTable)}
    loading: list[PlannedTable] = []
    kept: list[str] = []
    while waiting:
        name = _next(waiting)
        planned = waiting.pop(name)
        table = planned.table
        with planned.place.naming():
            if isinstance(table, Table):
                if table.people not in people:
                    raise PolicyError(
                        f"there are no people {table.people!r}; declare them as people.{table.people}. "
                        f"{meant(table.people, sorted(people))}".rstrip()
                    )
                table = linked(table, Catalog(private, public))
                private[table.name] = table
            else:
                public[table.name] = table
            if name not in there:
                if not planned.source.exists() and not _is_pattern(planned):
                    raise PolicyError(f"there is no file {planned.source}; the path is relative to the policy file.")
                check_columns(delimited(planned.source, planned.delimiter), _wanted(table))
                loading.append(planned)
                continue
            different = list(_differences(table, there[name]))
            if different:
                raise PolicyError(
                    f"differs from what is registered: {'; '.join(different)}. A declaration is fixed once data are "
                    "loaded: correct the file, or drop the table first."
                )
            kept.append(table.name)
    return loading, tuple(kept)


def _next(waiting: Mapping[str, PlannedTable]) -> str:
    """A table that refers to no other, or else to none of those that wait."""
    refers = {name: getattr(planned.table, "via", None) for name, planned in waiting.items()}
    for name, via in sorted(refers.items(), key=lambda item: item[1] is not None):
        if via is None or via.table.lower() not in waiting:
            return name
    circle = next(iter(waiting.values())).place
    raise PolicyError(f"{circle}: its foreign keys go in a circle, through {', '.join(waiting)}.")


def _wanted(table: Table | PublicTable) -> list[str]:
    """The columns that a table's source must have."""
    by_column = isinstance(table, Table) and table.via is None and not table.row_level
    return [*([table.owner] if by_column else []), *source_names(table.columns)]  # type: ignore[union-attr]


def _is_pattern(planned: PlannedTable) -> bool:
    return any(mark in str(planned.source) for mark in "*?[")


def _load(curator: Declares, planned: PlannedTable, strict: bool, progress: Progress | None) -> LoadReport:
    table = planned.table
    shared = {"columns": table.columns, "key": table.key, "strict": strict, "progress": progress}
    shared |= {"delimiter": planned.delimiter, "max_rows": table.max_rows}
    with planned.place.naming():
        if isinstance(table, PublicTable):
            return curator.register_public(table.name, planned.source, **shared)
        return curator.register(
            table.name,
            planned.source,
            people=table.people,
            owner=planned.owner,
            max_rows_per_owner=table.max_rows_per_owner,
            max_rows_per_owner_in=table.structure.rows_in,
            max_values_per_owner=table.structure.values,
            **shared,
        )


def _differences(here: Table | PublicTable, there: Table | PublicTable) -> Iterator[str]:
    mine, theirs = _declared(here), _declared(there)
    for name in sorted({*mine, *theirs}):
        if name not in theirs:
            yield f"{name} is declared in the file only"
        elif name not in mine:
            yield f"{name} is registered, and not in the file"
        elif mine[name] != theirs[name]:
            shown = [_short(value) for value in (mine[name], theirs[name])]
            yield f"{name} is {shown[0]} in the file and {shown[1]} as registered"


def _declared(table: Table | PublicTable) -> dict[str, object]:
    """All that a declaration says, by the names that a policy file uses."""
    said: dict[str, object] = {"public": isinstance(table, PublicTable), "key": ", ".join(table.key) or "none"}
    said["max_rows"] = "none" if table.max_rows is None else table.max_rows
    if isinstance(table, Table):
        owner = "each row" if table.row_level else str(table.via or table.owner)
        said |= {"people": table.people, "owner": owner, "max_rows_per_owner": table.max_rows_per_owner}
        said |= {f"max_rows_per_owner_in.{name}": most for name, most in table.structure.rows_in.items()}
        said |= {f"max_values_per_owner.{name}": most for name, most in table.structure.values.items()}
    for name, column in table.columns.items():
        said |= {f"columns.{name}.{field}": value for field, value in _column(column).items()}
    return said


def _column(column: Column) -> dict[str, object]:
    stated = column.declaration()
    if isinstance(column, Coded) and column.default is not None:
        stated["default"] = str(column.decode(int(column.encode(column.default))))  # however it was written
    return {("labels" if field == "values" else field): value for field, value in stated.items()}


def _short(value: object) -> str:
    shown = str(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
