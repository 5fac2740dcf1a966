"""Threat 16: keys come from declarations and public tables, never from what people have."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from threats_harness import Leak, Side, check_neighbours

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.engines.duckdb.engine import DuckDBEngine
from dither.policy.columns import Int, Text

QUESTIONS = (
    "SELECT p.name, COUNT(*), COUNT(DISTINCT person) FROM t JOIN places p ON t.place = p.code GROUP BY p.name",
    "SELECT name, SUM(place) FROM t LEFT JOIN places p ON t.place = p.code WHERE name <> 'far away' GROUP BY name",
    "SELECT n, COUNT(*) FROM (SELECT name AS n, place + 1 AS k FROM t JOIN places p ON place = p.code) x GROUP BY n",
)
PLACES = pa.table({"code": [1, 2, 3, 4], "name": ["near", "far away", "nowhere", None]})


def make_side(folder: Path, people: list[int], like: Path | None = None) -> Side:
    """One person alone has been far away."""
    curator = Curator.open(folder)
    if like is not None:
        (folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like / "snapshots" / "rank.key", folder / "snapshots" / "rank.key")
    curator.people("everybody", budget=PureDP(4))  # without a delta for keys from the data
    visits = pa.table({"person": people, "place": [2 if person == 4217 else 1 for person in people]})
    columns = {"place": Int(0, 9)}
    curator.register("t", visits, people="everybody", owner="person", max_rows_per_owner=2, columns=columns)
    curator.register_public("places", PLACES, key="code", columns={"code": Int(0, 9), "name": Text()})
    return Side.of(curator)


def check_groups(folder: Path) -> None:
    one = make_side(folder / "one", [1, 1, 2, 3, 4217])
    other = make_side(folder / "other", [1, 1, 2, 3], folder / "one")
    try:
        for question in QUESTIONS:
            seen = check_neighbours(one, other, question)
            assert (seen.status, seen.rows) == ("answered", 4), "all names and NULL, whoever has been there"
    finally:
        one.curator.close()
        other.curator.close()


def test_public_values_are_groups_whoever_has_them(tmp_path: Path) -> None:
    check_groups(tmp_path)


def test_planted_only_values_that_people_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list made shorter by a look at the data."""
    listed = DuckDBEngine.labels

    def of_people(self: Any, table: Any) -> dict[str, tuple[str, ...]]:
        self.close()
        with duckdb.connect(str(next(self._folder.glob("t-*.duckdb"))), read_only=True) as connection:
            been = {place for (place,) in connection.execute("SELECT DISTINCT place FROM rows").fetchall()}
        names = [name for code, name in zip(*PLACES.to_pydict().values(), strict=True) if code in been]
        return {"name": tuple(label for label in listed(self, table)["name"] if label in names)}

    monkeypatch.setattr(DuckDBEngine, "labels", of_people)
    with pytest.raises(Leak, match="differs between neighbours"):
        check_groups(tmp_path)


def test_a_refresh_of_the_public_table_brings_its_values(tmp_path: Path) -> None:
    side = make_side(tmp_path, [1, 2])
    with side.curator as curator:
        answer = curator.sql(QUESTIONS[0], epsilon=1)
        assert answer.to_arrow()["name"].to_pylist() == ["far away", "near", "nowhere", None]
        curator.refresh("places", pa.table({"code": [1], "name": ["Near"]}))
        assert curator.sql(QUESTIONS[0], epsilon=1).to_arrow()["name"].to_pylist() == ["Near", None]
