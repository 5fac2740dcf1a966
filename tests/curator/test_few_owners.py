"""Before a question is paid for it is said that hardly any key can be shown, where so few owners are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt

BY_CITY = "SELECT city, COUNT(*) AS n FROM {} GROUP BY city"
OVER = "SELECT MAX(n) AS most FROM (SELECT city, COUNT(*) AS n FROM {} GROUP BY city) AS t"


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    folder: Path = tmp_path_factory.mktemp("few")
    people = pa.table({"owner": range(300), "city": [f"city {owner % 3}" for owner in range(300)]})
    with dt.Curator.open(folder / "clinic", create=True) as made:
        made.people("people", budget=dt.ApproxDP(8, "1e-6"))
        for name, more in {"declared": {"max_rows": 400}, "profiled": {}, "unknown": {}}.items():
            stated: dict[str, Any] = {"owner": "owner", "max_rows_per_owner": 1, "columns": {"city": dt.Text()}, **more}
            made.register(name, people, people="people", **stated)
        made.profile("profiled", share="0.2")
        yield made


def said(curator: dt.Curator, text: str, table: str, epsilon: str) -> list[str]:
    notes = curator.explain(text.format(table), epsilon=epsilon).to_dict()["notes"]
    return [note for note in notes if note.startswith("Hardly any key can be shown")]


@pytest.mark.parametrize("text", [BY_CITY, OVER])
@pytest.mark.parametrize("table", ["declared", "profiled"])
def test_it_is_said_where_so_few_owners_are_known(curator: dt.Curator, text: str, table: str) -> None:
    before = curator.budget("people").spent
    (note,) = said(curator, text, table, "0.01")
    assert "a noisy count of 2,799 owners is needed" in note
    assert said(curator, text, table, "4") == [], "of so many owners there may be some"
    assert curator.budget("people").spent == before


def test_nothing_is_said_where_nothing_is_known(curator: dt.Curator) -> None:
    assert said(curator, BY_CITY, "unknown", "0.01") == []
    joined = BY_CITY.format("declared").replace("FROM declared", "FROM declared JOIN unknown USING (owner)")
    assert said(curator, joined.replace("city", "declared.city"), "", "0.01") == []
    assert said(curator, "SELECT COUNT(*) FROM {}", "declared", "0.01") == []
