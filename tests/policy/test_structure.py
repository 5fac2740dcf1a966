"""Declared structure is checked where it is stated, kept in policy.json, and fixed from then on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import DitherError, PolicyError, TableExists
from dither.policy.catalog import EACH_ROW, Table
from dither.policy.columns import Category, Int
from dither.policy.store import PolicyFile
from dither.policy.structure import Structure
from dither.policy.tables import Tables, private_table

COLUMNS = {"day": Int(0, 9), "Region": Category(["north", "south"])}
ROWS = pa.table({"person": [1, 1, 2], "day": [1, 1, 2], "Region": ["north", "south", "south"]})


def declared(owner: Any = "person", rows: int | None = 5, **stated: Any) -> Table:
    return private_table("visits", "people", owner, rows, COLUMNS, **stated)


def test_columns_are_named_as_declared() -> None:
    table = declared(max_rows_per_owner_in={"DAY": 2}, max_values_per_owner={"region": 1})
    assert table.structure == Structure({"day": 2}, {"Region": 1})
    assert "at most 2 rows of each owner in each day, at most 1 value of Region for each owner" in repr(Tables([table]))
    assert not declared().structure


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"max_rows_per_owner_in": {"hour": 1}}, "names 'hour' as a column of max_rows_per_owner_in"),
        ({"max_rows_per_owner_in": {"day": 0}}, r"max_rows_per_owner_in\['day'\] must be between 1"),
        ({"max_rows_per_owner_in": {"day": 1.5}}, "must be a whole number"),
        ({"max_rows_per_owner_in": {"day": True}}, "must be a whole number"),
        ({"max_rows_per_owner_in": {"day": 5}}, "says nothing where max_rows_per_owner is 5"),
        ({"max_values_per_owner": {"Region": 6}}, "says nothing where max_rows_per_owner is 5"),
        ({"max_values_per_owner": "Region"}, "states numbers by column"),
        ({"max_values_per_owner": {1: 1}}, "states numbers by column"),
        ({"max_rows_per_owner_in": {"day": 1, "DAY": 2}}, "names a column twice"),
        ({"owner": EACH_ROW, "rows": None, "max_rows_per_owner_in": {"day": 1}}, "each row is its own owner"),
    ],
)
def test_what_makes_no_sense_is_refused(stated: dict[str, Any], words: str) -> None:
    with pytest.raises(DitherError, match=words):
        declared(**stated)


def register(curator: Curator, **stated: Any) -> Any:
    limits = {"people": "people", "owner": "person", "max_rows_per_owner": 5, "columns": COLUMNS}
    return curator.register("visits", ROWS, **limits, **stated)


def test_it_is_kept_and_refreshed_under(tmp_path: Path) -> None:
    with Curator.open(tmp_path / "c") as curator:
        curator.people("people", budget=PureDP(1))
        report = register(curator, max_rows_per_owner_in={"day": 1}, max_values_per_owner={"Region": 1})
        assert report.rows == 2
    with Curator.open(tmp_path / "c") as curator:
        (table,) = curator.tables()
        assert isinstance(table, Table)
        assert table.structure == Structure({"day": 1}, {"Region": 1})
        assert curator.refresh("visits", ROWS).rows == 2
        with pytest.raises(TableExists):
            register(curator)
    assert json.loads((tmp_path / "c" / "policy.json").read_text())["format"] == 4


def test_a_folder_without_structure_is_written_as_before(tmp_path: Path) -> None:
    with Curator.open(tmp_path / "c") as curator:
        curator.people("people", budget=PureDP(1))
        register(curator)
    content = json.loads((tmp_path / "c" / "policy.json").read_text())
    assert content["format"] == 3
    assert "structure" not in content["tables"]["visits"]


@pytest.mark.parametrize("edit", [None, {"rows_in": {"day": 3}, "values": {}}, {"rows_in": {}, "values": {}}])
def test_edited_afterwards_it_is_refused(tmp_path: Path, edit: Any) -> None:
    """A promise that the snapshot was not made under would buy too little noise."""
    with Curator.open(tmp_path / "c") as curator:
        curator.people("people", budget=PureDP(1))
        register(curator, max_rows_per_owner_in={"day": 4})
    path = tmp_path / "c" / "policy.json"
    content = json.loads(path.read_text())
    assert content["tables"]["visits"].pop("structure") == {"rows_in": {"day": 4}, "values": {}}
    if edit is not None:
        content["tables"]["visits"]["structure"] = edit
    path.write_text(json.dumps(content))
    with pytest.raises(PolicyError, match="was edited after its data were loaded"):
        PolicyFile(tmp_path / "c").read()
