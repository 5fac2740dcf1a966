"""Every number is about the declared rows alone: those beyond `max_rows_per_owner` change nothing, in any form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.bounding.owner_limits import Limits
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.lowering.lower import lower
from dither.sql.plan.nodes import Node, Scan

MOST, STORED = 2, 5
FORMS = (
    "SELECT COUNT(*), COUNT(x), SUM(x), COUNT(DISTINCT o), COUNT(DISTINCT x) FROM t WHERE x = 3",
    "SELECT x, COUNT(*), COUNT(DISTINCT o) FROM t GROUP BY x",
    "SELECT MEDIAN(x) FROM t",
    "SELECT OWNER_COUNT(100), OWNER_SUM(x, 0, 100) FROM t",
    "SELECT x, OWNER_COUNT(1) FROM t GROUP BY x",
    "SELECT COUNT(*), SUM(s.y) FROM s JOIN t ON s.k = t.k AND s.o = t.o",
    "SELECT COUNT(*), SUM(x) FROM s LEFT JOIN t ON s.k = t.k AND s.o = t.o",
    "SELECT COUNT(*) FROM t JOIN s ON s.k = t.k AND s.o = t.o",
    "SELECT COUNT(*), COUNT(DISTINCT a.o) FROM t a JOIN t b ON a.o = b.o AND a.x < b.x",
    "SELECT COUNT(*) FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.o = s.o)",
    "SELECT COUNT(*) FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.o = s.o)",
    "SELECT COUNT(DISTINCT o) FROM s WHERE o IN (SELECT o FROM t WHERE x = 4)",
    "SELECT COUNT(*) FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.x > s.y AND t.o = s.o)",
    "SELECT COUNT(*), SUM(v) FROM (SELECT x AS v FROM t UNION ALL SELECT y FROM s) u",
    "SELECT COUNT(*), SUM(n) FROM (SELECT o, COUNT(*) AS n, MAX(x) AS m FROM t GROUP BY o) u",
    "SELECT COUNT(*) FROM s JOIN (SELECT o, MAX(x) AS m FROM t GROUP BY o) u ON s.o = u.o WHERE m = 4",
)


def catalog(people: str = "people") -> Catalog:
    column = Int(0, STORED - 1, nullable=False, default=0)
    names = {"t": {"k": column, "x": column}, "s": {"k": column, "y": column}}
    tables = {
        name: Table(name, people, "o", MOST, columns, key=("k",), owner_type="BIGINT")
        for name, columns in names.items()
    }
    return Catalog(tables)


def stored(ranks: int) -> duckdb.DuckDBPyConnection:
    """Four owners with five rows in each table, of which so many are there; the rank of a row decides its values."""
    connection = duckdb.connect()
    for name, column, first in (("t", "x", 1), ("s", "y", 0)):
        connection.execute(f'CREATE SCHEMA "t_{name}"')
        connection.execute(
            f'CREATE TABLE "t_{name}"."rows" AS SELECT o AS _owner, (r + 1)::INTEGER AS _rank, '
            f"(2 * r + {first}) % {STORED} AS k, (o + 4 * r) % {STORED} AS {column} "
            f"FROM range(4) a(o), range({ranks}) b(r)"
        )
    return connection


@pytest.fixture
def sides() -> Iterator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]]:
    with stored(STORED) as all_rows, stored(MOST) as declared:
        yield all_rows, declared


def check_form(sides: Any, text: str, known: Catalog, *, guarded: bool = True, **stated: Any) -> None:
    """The exact answer is the same if the rows beyond the declared ones are not there."""
    aggregates = plan(read(text, known), **stated)
    check(aggregates, every_row=not guarded)
    for aggregate in aggregates:
        found, declared = (sorted(side.execute(lower(aggregate).sql).fetchall(), key=str) for side in sides)
        assert found == declared, "rows beyond the declared ones are in the answer"


@pytest.mark.parametrize("rows", [None, 1])
@pytest.mark.parametrize("text", FORMS)
def test_rows_beyond_the_declared_ones_change_nothing(sides: Any, text: str, rows: int | None) -> None:
    check_form(sides, text, catalog(), rows_per_owner=rows)


def test_planted_relations_without_a_limit(sides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sensitivity needs no limit: owners and their totals, rows that are looked for, or found one at most."""
    planted = ("SELECT COUNT(DISTINCT o) FROM t WHERE x = 3", FORMS[3], *FORMS[5:8], *FORMS[9:12])
    limited = Limits.limited

    def unlimited(self: Limits, node: Node) -> Node:
        bare = isinstance(node, Scan) and self.rows_per_owner is None
        return node if bare else limited(self, node)

    monkeypatch.setattr(Limits, "limited", unlimited)
    for text in planted:
        with pytest.raises(UnsafePlan, match="rows beyond those that are declared"):
            check_form(sides, text, catalog("planted"), rows_per_owner=MOST)
        with pytest.raises(AssertionError, match="rows beyond the declared ones"):
            check_form(sides, text, catalog("planted"), guarded=False, rows_per_owner=MOST)
