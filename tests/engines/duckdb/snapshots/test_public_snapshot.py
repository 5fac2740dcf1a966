"""Public tables: sanitised like any other, stored without owners, their key proven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import loading
from dither.errors import PolicyError
from dither.policy.catalog import PublicTable
from dither.policy.columns import Category, Int, Text

REGIONS = PublicTable("regions", {"code": Int(0, 99), "name": Text(), "zone": Category(["a", "b"])}, ("code",), 4)


def regions(**changed: Any) -> pa.Table:
    return pa.table({"code": [1, 2, 3], "name": ["one", "two", "three"], "zone": ["b", "a", "z"]} | changed)


@pytest.fixture
def engine(tmp_path: Path) -> DuckDBEngine:
    return DuckDBEngine(tmp_path / "snapshots")


def test_rows_without_owners(engine: DuckDBEngine, tmp_path: Path) -> None:
    report = engine.load(REGIONS, regions())
    with duckdb.connect(str(tmp_path / "snapshots" / "regions-000004.duckdb"), read_only=True) as connection:
        found = connection.execute("SELECT * FROM rows ORDER BY code")
        assert [column[0] for column in found.description or ()] == ["code", "name", "zone"]
        assert found.fetchall() == [(1, "one", 1), (2, "two", 0), (3, "three", None)]
    assert (report.rows, report.owners, report.replaced["zone"]) == (3, 0, 1)
    assert str(report).splitlines()[0] == "3 rows"


def test_dropped_and_kept_like_others(engine: DuckDBEngine) -> None:
    engine.load(REGIONS, regions())
    engine.keep_only([REGIONS])
    assert engine.has(REGIONS)
    engine.drop(REGIONS)
    assert not engine.has(REGIONS)
    engine.load(REGIONS, regions())
    engine.keep_only([])
    assert not engine.has(REGIONS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"code": [1, 2, 2]}, r"its key \(code\) has 1 value more than once"),
        ({"code": [None, 2, None]}, "more than once"),
        ({"code": [1, 2, 100]}, r"its key \(code\) has 1 value that"),
        ({"code": [1, 2, "x"]}, "does not allow"),
    ],
)
def test_a_key_tells_every_row_apart(engine: DuckDBEngine, changed: dict[str, Any], message: str) -> None:
    changed = {name: [None if v is None else str(v) for v in values] for name, values in changed.items()}
    with pytest.raises(PolicyError, match=message):
        engine.load(REGIONS, regions(**changed))
    assert not engine.has(REGIONS)


def test_several_columns_are_one_key(engine: DuckDBEngine) -> None:
    table = PublicTable("prices", {"code": Int(0, 99), "name": Text()}, ("code", "name"), 1)
    engine.load(table, regions(code=[1, 1, 2], name=["a", "b", "a"]))
    with pytest.raises(PolicyError, match=r"its key \(code, name\)"):
        engine.load(PublicTable("more", table.columns, table.key, 2), regions(code=[1, 1, 1], name=["a", "b", "a"]))


def test_strict_and_broken_sources(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="1 value of 'zone' unusable"):
        engine.load(REGIONS, regions(), strict=True)
    with pytest.raises(PolicyError, match="has no rows"):
        engine.load(REGIONS, regions().slice(0, 0))
    (tmp_path / "r.csv").write_text("code,name,zone\n1,one,a\n2,two\n")
    with pytest.raises(PolicyError, match="has 1 unreadable line "):
        engine.load(REGIONS, tmp_path / "r.csv")


def test_a_failed_verification_stores_nothing(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a bound that sanitising forgot."""
    sanitised = loading.Loading.sanitised

    def forgetful(self: Any, source: Any, owner: str = "") -> str:
        return f"SELECT * REPLACE (CAST(100 AS TINYINT) AS code) FROM ({sanitised(self, source, owner)})"

    monkeypatch.setattr(loading.Loading, "sanitised", forgetful)
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        engine.load(REGIONS, regions().slice(0, 1))
    assert not engine.has(REGIONS)
