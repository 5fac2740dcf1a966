"""Which groups there are is asked of public tables before any statement over people runs.

Whether that statement ends would otherwise follow from what those over people took: memory, or the time that is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator import run
from dither.sql.lowering.lower import lower

QUESTIONS = (
    "SELECT s.town, COUNT(*) FROM t JOIN shops s ON t.shop = s.shop WHERE s.size > 1 GROUP BY s.town",
    "SELECT s.town, COUNT(*), MEDIAN(x), OWNER_SUM(x, 0, 5) FROM t JOIN shops s ON t.shop = s.shop GROUP BY s.town",
)


class Heard:
    """An engine that remembers in which order it was asked."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def run(self, statement: Any) -> Any:
        self.calls.append("people")
        return self.engine.run(statement)

    def listed(self, statement: Any) -> Any:
        self.calls.append("public")
        return self.engine.listed(statement)


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[tuple[dt.Curator, Heard]]:
    with dt.Curator.open(tmp_path / "c") as curator:
        curator.people("all", budget=dt.ApproxDP(100, "1e-6"))
        rows = pa.table({"uid": [1, 2, 3], "x": [1, 2, 3], "shop": [1, 2, 2]})
        declared = {"x": dt.Int(0, 9), "shop": dt.Int(1, 5)}
        curator.register("t", rows, people="all", owner="uid", max_rows_per_owner=1, columns=declared)
        shops = pa.table({"shop": [1, 2, 3], "town": ["ulm", "rom", "bern"], "size": [1, 2, 3]})
        towns = {"shop": dt.Int(1, 5), "town": dt.Category(["bern", "rom", "ulm", "bonn"]), "size": dt.Int(0, 9)}
        curator.register_public("shops", shops, key="shop", columns=towns)
        engine = Heard(curator._engine)
        curator._engine = engine  # type: ignore[assignment]
        yield curator, engine


def check_order(heard: tuple[dt.Curator, Heard], text: str) -> None:
    curator, engine = heard
    engine.calls.clear()
    curator.sql(text, epsilon=1)
    asked = engine.calls.count("people")
    assert asked
    assert engine.calls == ["public", *["people"] * asked]


@pytest.mark.parametrize("text", QUESTIONS)
def test_public_tables_are_asked_first(heard: tuple[dt.Curator, Heard], text: str) -> None:
    check_order(heard, text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_planted_people_are_asked_first(
    heard: tuple[dt.Curator, Heard], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = run.release

    def late(priced: Any, engine: Any, most_cells: int | None = None) -> Any:
        engine.run(lower(priced.aggregates[0], engine.dialect_of("duckdb")))
        return sound(priced, engine, most_cells)

    monkeypatch.setattr(run, "release", late)
    with pytest.raises(AssertionError):
        check_order(heard, text)
