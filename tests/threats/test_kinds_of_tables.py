"""Threats 25 and 52 for tables by foreign key and by row: one pool for one people, and refreshes that show nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from threats_clinic import COLUMNS, COUNT, add_table, open_clinic, patients, spent

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import PolicyError
from dither.policy.catalog import EACH_ROW
from dither.policy.columns import Int

PRICE = Fraction(1, 4)
NUMBERED = {"id": Int(0, 10_000), **COLUMNS}


def numbered(source: Any) -> Any:
    return source.append_column("id", pa.array(range(source.num_rows)))


def add_parent(curator: Curator, source: Any) -> None:
    add_table(curator, "parent", numbered(source), columns=NUMBERED, key="id")


def by_foreign_key(curator: Curator, name: str, source: Any, people: str = "patients") -> None:
    if not any(table.name == "parent" for table in curator.tables()):
        add_parent(curator, patients())
    declared = {"owner": "id -> parent.id", "columns": NUMBERED}
    add_table(curator, name, numbered(source), people=people, **declared)


def by_row(curator: Curator, name: str, source: Any, people: str = "patients") -> None:
    add_table(curator, name, source, people=people, owner=EACH_ROW, max_rows_per_owner=None)


KINDS = [by_foreign_key, by_row]
Add = Callable[..., None]


# Threat 25


def check_alias(curator: Curator, add: Add, people: str) -> None:
    for _ in range(2):
        add(curator, "alias", patients(), people)
        curator.sql("SELECT COUNT(*) FROM alias", epsilon=PRICE)
        curator.drop("alias")
    curator.sql(COUNT, epsilon=PRICE)
    assert spent(curator) == 3 * PRICE, "an alias spends the same pool"


@pytest.mark.parametrize("add", KINDS)
def test_aliases_of_any_kind_spend_the_same_pool(clinic: Curator, add: Add) -> None:
    check_alias(clinic, add, "Patients")


def test_planted_rows_with_their_own_pool(clinic: Curator) -> None:
    clinic.people("rows", budget=PureDP(4))
    with pytest.raises(AssertionError, match="the same pool"):
        check_alias(clinic, by_row, "rows")


def test_a_foreign_key_cannot_change_the_pool(clinic: Curator) -> None:
    clinic.people("others", budget=PureDP(4))
    with pytest.raises(PolicyError, match="leads to a table of the same people"):
        check_alias(clinic, by_foreign_key, "others")


# Threat 52


def check_refreshes_look_alike(folder: Path, add: Add, kind: type[Curator] = Curator) -> None:
    """Data that change and data that do not, D and D', are refreshed with the same observables."""
    seen = []
    for number, source in enumerate([patients(), patients(older=9), patients(39)]):
        with open_clinic(folder / str(number), kind=kind) as curator:
            add(curator, "more", patients())
            seen.append([observed(curator, add, source) for _ in range(3)])
    assert seen[0] == seen[1] == seen[2], "what a refresh shows must not depend on data"


def observed(curator: Curator, add: Add, source: Any) -> Any:
    alice, before = curator.analyst("alice"), spent(curator)
    alice.sql("SELECT COUNT(*) FROM more", epsilon=PRICE)
    assert spent(curator) == before + PRICE, "a refresh is a new snapshot"
    curator.refresh("more", numbered(source) if add is by_foreign_key else source)
    tables = [vars(table) for table in alice.tables()]
    return spent(curator), tables, str(alice.explain("SELECT COUNT(*) FROM more", epsilon=1))


@pytest.mark.parametrize("add", KINDS)
def test_refreshes_of_any_kind_look_alike(tmp_path: Path, add: Add) -> None:
    check_refreshes_look_alike(tmp_path, add)


class LimitsByContent(Curator):
    """Planted bug: what a refresh declares follows from the data."""

    def refresh(self, name: str, source: Any, **named: Any) -> Any:
        report = super().refresh(name, source, **named)
        policy = self._policy.read()
        table = policy.tables[name]
        told = type(table)(**vars(table) | {"max_rows_per_owner": report.rows})
        self._policy.write(policy.with_table(told))
        return report


@pytest.mark.parametrize("add", KINDS)
def test_planted_declaration_from_data(tmp_path: Path, add: Add) -> None:
    with pytest.raises(AssertionError, match="must not depend on data"):
        check_refreshes_look_alike(tmp_path, add, LimitsByContent)
