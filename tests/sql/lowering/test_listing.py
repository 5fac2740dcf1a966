"""Groups that public tables and conditions rule out are not listed, and no other: by a reference that has every row."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.engines.duckdb.engine import DuckDBEngine
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable
from dither.sql.binding.reading import read
from dither.sql.lowering import listing as module
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.listing import listing
from dither.sql.lowering.statement import Statement

TOWNS = {"code": [0, 1, 2, 7], "land": [0, 1, 1, 2], "name": ["rom", "ulm", "bonn", "bern"], "size": [5, 1, 9, 5]}
LANDS = {"land": [0, 1, 2], "called": ["it", "de", "ch"], "part": ["south", "north", "north"]}
# Every combination that a row of people can have.
ROWS = list(product([None, *range(4)], [None, *range(4)], [None, 0, 1], [0, 1]))

JOIN = "visits v JOIN towns t ON v.town = t.code"
LEFT = "visits v LEFT JOIN towns t ON v.town = t.code"
BOTH = f"{JOIN} JOIN lands l ON t.land = l.land"
QUESTIONS = [
    f"SELECT t.name, COUNT(*) FROM {JOIN} GROUP BY t.name",
    f"SELECT t.name, COUNT(*) FROM {JOIN} WHERE t.size > 4 GROUP BY t.name",
    f"SELECT t.name, v.kind, COUNT(*) FROM {JOIN} WHERE t.size > 4 AND kind = 1 GROUP BY t.name, v.kind",
    f"SELECT v.town, COUNT(*) FROM {JOIN} GROUP BY v.town",
    f"SELECT v.town, COUNT(*) FROM {JOIN} WHERE t.size < 9 GROUP BY v.town",
    f"SELECT l.called, COUNT(*) FROM {BOTH} WHERE l.part = 'north' GROUP BY l.called",
    f"SELECT t.name, COUNT(*) FROM {BOTH} WHERE l.part = 'north' GROUP BY t.name",
    f"SELECT t.size + 1 AS s, l.called, COUNT(*) FROM {BOTH} WHERE t.name <> 'rom' GROUP BY s, l.called",
    f"SELECT n, COUNT(*) FROM (SELECT t.name AS n, v.kind AS k FROM {BOTH} WHERE l.part = 'north') x GROUP BY n",
    f"SELECT t.name, COUNT(*) FROM {JOIN} WHERE (t.size > 4 AND v.kind = 1) OR t.name = 'ulm' GROUP BY t.name",
    f"SELECT t.name, COUNT(*) FROM {JOIN} WHERE t.size > 4 OR v.kind = 1 GROUP BY t.name",
    "SELECT town, COUNT(*) FROM visits WHERE town IN (SELECT code FROM towns WHERE size > 4) GROUP BY town",
    "SELECT town, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM towns t WHERE t.code = v.town AND size < 9) "
    "GROUP BY town",
    "SELECT a.name AS x, b.name AS y, COUNT(*) FROM visits v JOIN towns a ON v.town = a.code JOIN towns b ON "
    "v.origin = b.code WHERE (a.name = 'rom' AND b.name = 'ulm') OR (a.name = 'ulm' AND b.name = 'rom') GROUP BY 1, 2",
    "SELECT a.name AS x, b.size AS y, COUNT(*) FROM visits v JOIN towns a ON v.town = a.code JOIN towns b ON "
    "v.origin = b.code AND a.land = b.land GROUP BY 1, 2",
    f"SELECT y, COUNT(*) FROM (SELECT v.town * 2 AS y FROM {JOIN} WHERE v.town BETWEEN 1 AND 2) x GROUP BY y",
    f"SELECT called, AVG(n) FROM (SELECT person, l.called, COUNT(*) AS n FROM {BOTH} WHERE t.size > 4 "
    "GROUP BY person, l.called) x GROUP BY called",
    f"SELECT t.name, COUNT(*) FROM {LEFT} WHERE t.size > 4 GROUP BY t.name",
    f"SELECT t.name, COUNT(*) FROM {LEFT} WHERE t.name NOT LIKE 'r%' GROUP BY t.name",
    f"SELECT t.size, COUNT(*) FROM {LEFT} AND t.size < 9 WHERE NOT (t.name IS NULL) GROUP BY t.size",
    f"SELECT l.called, COUNT(*) FROM {LEFT} LEFT JOIN lands l ON t.land = l.land WHERE l.part = 'north' "
    "GROUP BY l.called",
    f"SELECT n, COUNT(*) FROM (SELECT t.name AS n, t.size AS s FROM {LEFT}) x WHERE s IN (5, 9) GROUP BY n",
]


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with dt.Curator.open(tmp_path_factory.mktemp("listing") / "c") as curator:
        curator.people("people", budget=dt.ApproxDP(5000, "1e-6"), oversubscribe=True)
        town = dt.Int(0, 3)
        columns = {"town": town, "origin": town, "kind": dt.Int(0, 1), "odd": dt.Int(0, 1, nullable=False, default=0)}
        names = list(columns)
        rows = pa.table({"person": [1, 2], **{name: pa.array([None, 1], pa.int64()) for name in names}})
        curator.register("visits", rows, people="people", owner="person", max_rows_per_owner=4, columns=columns)
        towns = {"code": dt.Int(0, 9), "land": dt.Int(0, 3), "name": dt.Text(), "size": dt.Int(0, 9)}
        curator.register_public("towns", pa.table(TOWNS), key="code", columns=towns)
        lands = {"land": dt.Int(0, 3), "called": dt.Category(["it", "de", "ch", "fr"]), "part": dt.Text()}
        curator.register_public("lands", pa.table(LANDS), key="land", columns=lands)
        yield curator


def possible(text: str) -> set[tuple[Any, ...]]:
    """The groups of a table of people that has every row there can be."""
    connection = duckdb.connect()
    towns, lands = pa.table(TOWNS), pa.table(LANDS)  # noqa: F841 - read by name
    visits = pa.table([pa.array(c, pa.int64()) for c in zip(*ROWS, strict=True)], ["town", "origin", "kind", "odd"])
    visits = visits.append_column("person", pa.array(range(len(visits))))
    found = connection.sql(text).fetchall()
    return {row[:-1] for row in found}


def listed(curator: Any, text: str) -> set[tuple[Any, ...]]:
    answer = curator.sql(text, epsilon=1).to_arrow()
    return {tuple(row.values())[:-1] for row in answer.to_pylist()}


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_groups_are_those_that_some_row_can_be_in(curator: Any, text: str) -> None:
    assert listed(curator, text) == possible(text)
    assert listed(curator, text) == possible(text)  # and from the stored answer


def test_a_join_that_keeps_every_row_rules_nothing_out(curator: Any) -> None:
    text = "SELECT t.name, COUNT(*) FROM visits v LEFT JOIN towns t ON v.town = t.code GROUP BY t.name"
    assert listed(curator, text) == {*possible(text), ("bern",)}


@pytest.mark.parametrize(
    "condition",
    [
        "t.size IS NULL OR t.size > 6",
        "t.size > 6 OR v.kind = 0",
        "t.size > 4 OR t.land = 1",
        "(t.size > 6) IS NOT TRUE",
    ],
)
def test_conditions_that_rows_without_a_town_meet_rule_nothing_out(curator: Any, condition: str) -> None:
    text = f"SELECT t.name, COUNT(*) FROM {LEFT} WHERE {condition} GROUP BY t.name"
    assert listed(curator, text) >= possible(text)


def test_planted_every_left_join_is_inner(curator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "never_null", lambda condition: frozenset({"size"}))
    text = f"SELECT t.name, COUNT(*) FROM {LEFT} WHERE t.size IS NULL OR t.size > 7 GROUP BY t.name"
    assert not listed(curator, text) >= possible(text)


def test_a_group_that_is_ruled_out_by_mistake_is_noticed(curator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a condition that names people's columns as well is taken for one on public tables alone."""
    real = module._relaxed

    def first(condition: Any, columns: Any) -> Any:
        return [part for operand in condition.operands for part in real(operand, columns)]

    monkeypatch.setattr(
        module, "_relaxed", lambda c, columns: first(c, columns) if isinstance(c, module.e.Or) else real(c, columns)
    )
    text = f"SELECT t.name, COUNT(*) FROM {JOIN} WHERE t.size > 6 OR v.kind = 0 GROUP BY t.name"
    assert listed(curator, text) != possible(text)


def test_only_public_tables_are_read(curator: Any, tmp_path: Path) -> None:
    catalog = curator._walk.catalogs.of(None)
    for text in QUESTIONS:
        found = listing(read(text, catalog), DUCKDB)
        assert found is None or all(isinstance(table, PublicTable) for table in found.statement.tables)
    private = Statement((catalog.table("visits"),), "SELECT COUNT(*) AS m0 FROM t_visits.rows", (), 1)
    with pytest.raises(PolicyError, match="only groups of public tables"):
        DuckDBEngine(tmp_path).listed(private)
    with pytest.raises(PolicyError, match="only rows of public tables"):
        DuckDBEngine(tmp_path).public_rows(catalog.table("visits"))


def test_a_listing_that_fails_leaves_every_group(curator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Any, statement: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(DuckDBEngine, "listed", failing)
    text = f"SELECT t.name, COUNT(*) FROM {JOIN} WHERE t.size > {{}} GROUP BY t.name"
    assert curator.sql(text.format(2), epsilon=1).to_arrow().num_rows == 5  # four names and NULL
    monkeypatch.setattr(DuckDBEngine, "listed", lambda self, statement: np.zeros(5, bool))
    assert curator.sql(text.format(3), epsilon=1).to_arrow().num_rows == 5
