"""A policy file as a plan: accounts to open and tables to load, parents before the tables that refer to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency.currency import Currency
from dither.curator.budgets import Budget, cap_of, terms_of
from dither.curator.policy_files.column_kinds import read_column
from dither.curator.policy_files.document import read_document
from dither.curator.policy_files.places import Place
from dither.ledger.names import canonical_name
from dither.policy.catalog import EACH_ROW, PublicTable, Table
from dither.policy.names import schema_name
from dither.policy.tables import Owner, private_table, public_table, read_owner

_STATES = ("frozen", "closed")
_STRUCTURE = ("max_rows_per_owner_in", "max_values_per_owner")


@dataclass(frozen=True)
class PlannedAccount:
    """A budget of people, or an analyst's cap within it."""

    people: str
    analyst: str | None
    budget: Budget
    place: Place
    oversubscribe: bool = False
    frozen: bool | None = None  # None: the file does not say
    closed: bool | None = None


@dataclass(frozen=True)
class PlannedTable:
    """A table and where its data are. `owner` is as it was stated; a public table has none."""

    table: Table | PublicTable
    owner: Owner | None
    source: Path
    place: Place
    delimiter: str | None = None


@dataclass(frozen=True)
class Plan:
    """Everything that a policy file declares."""

    file: Path
    accounts: tuple[PlannedAccount, ...]
    tables: tuple[PlannedTable, ...]
    schema: str | None = None


def read_policy(path: str | Path) -> Plan:
    """The plan of a policy file, refused unless the whole of it makes sense by itself."""
    file = Path(path)
    return plan_of(read_document(file), file)


def plan_of(document: dict[str, Any], file: Path) -> Plan:
    """The plan of a document that stands, or might stand, in that file: paths are relative to its folder."""
    top = Place(file, (), document)
    unfilled = list(top.unfilled())
    if unfilled:
        top.wrong(f"still to be filled in: {', '.join(unfilled)}.")
    found = top.fields((), ("people", "tables", "public", "schema"))
    if not found:
        top.wrong("declares nothing; it has people, tables, public and a schema.")
    accounts: list[PlannedAccount] = []
    for name, place in _inside(found, "people").items():
        accounts += _accounts(name, place)
    tables = [_private(name, place) for name, place in _inside(found, "tables").items()]
    tables += [_public(name, place) for name, place in _inside(found, "public").items()]
    schema = None
    if "schema" in found:
        with found["schema"].naming():
            schema = schema_name(found["schema"].text())
    return Plan(file, tuple(accounts), tuple(tables), schema)


def _inside(found: dict[str, Place], name: str) -> dict[str, Place]:
    return found[name].entries() if name in found else {}


def _accounts(people: str, place: Place) -> list[PlannedAccount]:
    found = place.fields(("epsilon",), ("delta", "pure", "composition", "oversubscribe", "analysts", *_STATES))
    with place.naming():
        whose = canonical_name(people, "people")
    budget = _budget(place, found)
    oversubscribe = "oversubscribe" in found and found["oversubscribe"].truth()
    made = [PlannedAccount(whose, None, budget, place, oversubscribe, **_states(found))]
    for name, inner in _inside(found, "analysts").items():
        stated = inner.fields(("epsilon",), (*(() if isinstance(budget, PureDP) else ("delta",)), *_STATES))
        with inner.naming():
            known_as = canonical_name(name, "analyst")
            made.append(PlannedAccount(whose, known_as, _cap(budget, stated), inner, **_states(stated)))
    return made


def _states(found: dict[str, Place]) -> dict[str, Any]:
    """Whether an account is to be frozen or closed, if the file says."""
    return {name: found[name].truth() for name in _STATES if name in found}


def _budget(place: Place, found: dict[str, Place]) -> Budget:
    pure = "pure" in found and found["pure"].truth()
    if pure and ("delta" in found or "composition" in found):
        place.wrong("a pure budget has epsilon alone; leave delta and composition out.")
    if not pure and "delta" not in found:
        place.wrong('a budget needs delta, such as "1e-6", or pure = true if it has none.')
    composition = found["composition"].choice(("zcdp", "basic")) if "composition" in found else "zcdp"
    with place.naming():
        epsilon = found["epsilon"].value
        return _checked(PureDP(epsilon) if pure else ApproxDP(epsilon, found["delta"].value, composition=composition))


def _cap(budget: Budget, stated: dict[str, Place]) -> Budget:
    """A cap has the kind of its people's budget, and unless it states a delta the same share of it as of epsilon."""
    return _checked(cap_of(budget, stated["epsilon"].value, stated["delta"].value if "delta" in stated else None))


def _checked(budget: Budget) -> Budget:
    terms_of(budget)
    Currency.of(budget)
    return budget


def _private(name: str, place: Place) -> PlannedTable:
    optional = ("owner", "each_row", "max_rows_per_owner", "max_rows", *_STRUCTURE, "key", "delimiter")
    found = place.fields(("source", "people", "columns"), optional)
    each_row = "each_row" in found and found["each_row"].truth()
    if each_row == ("owner" in found):
        place.wrong(
            'needs either owner, the column that says whose row it is (or "column -> table.key"), or each_row = true.'
        )
    owner: Owner = EACH_ROW if each_row else read_owner(found["owner"].text())
    rows: Any = found["max_rows_per_owner"].value if "max_rows_per_owner" in found else None
    if rows is None and not each_row:
        place.wrong("'max_rows_per_owner' is missing, the rows that count of each owner.")
    people, columns = found["people"].text(), _columns(found["columns"])
    with place.naming():
        table = private_table(name, people, owner, rows, columns, _key(found), _most(found), **_structure(found))
    return PlannedTable(table, owner, _source(found["source"]), place, _delimiter(found))


def _public(name: str, place: Place) -> PlannedTable:
    found = place.fields(("source", "key", "columns"), ("max_rows", "delimiter"))
    with place.naming():
        table = public_table(name, _columns(found["columns"]), _key(found), _most(found))
    return PlannedTable(table, None, _source(found["source"]), place, _delimiter(found))


def _columns(place: Place) -> dict[str, Any]:
    return {name: read_column(inner) for name, inner in place.entries().items()}


def _key(found: dict[str, Place]) -> tuple[str, ...]:
    return found["key"].texts() if "key" in found else ()


def _most(found: dict[str, Place]) -> Any:
    return found["max_rows"].value if "max_rows" in found else None


def _structure(found: dict[str, Place]) -> dict[str, Any]:
    """Numbers by column, as they were stated."""
    stated = {name: found[name].entries() for name in _STRUCTURE if name in found}
    return {name: {column: place.value for column, place in by.items()} for name, by in stated.items()}


def _delimiter(found: dict[str, Place]) -> str | None:
    return found["delimiter"].text() if "delimiter" in found else None


def _source(place: Place) -> Path:
    """Relative to the policy file, wherever the command is run."""
    return place.file.parent / place.text()
