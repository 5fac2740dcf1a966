"""Public tables: sanitised like any other, stored without owners, their key proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import loading, public_snapshot
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
        assert [column[0] for column in found.description or ()] == ["code", "name", "zone", "_code_name"]
        assert found.fetchall() == [(1, "one", 1, 0), (2, "two", 0, 2), (3, "three", None, 1)]
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


# Values of texts


def labels(engine: DuckDBEngine, names: list[Any], snapshot: int = 9) -> dict[str, tuple[str, ...]]:
    table = replace(REGIONS, snapshot=snapshot)
    places = list(range(len(names)))
    source = pa.table({"code": places, "name": pa.array(names, pa.string()), "zone": ["a"] * len(names)})
    engine.load(replace(table, columns={**table.columns, "code": Int(0, 10**6)}), source)
    return engine.labels(table)


def test_values_of_texts_in_the_order_of_code_points(engine: DuckDBEngine) -> None:
    names = ["b", "a", None, "b", "", "B", "\U0001f600", "\uffff", "ä", "a\u0308", "a b", "10", "9"]
    assert labels(engine, names) == {"name": tuple(sorted({name for name in names if name is not None}))}


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ([None, None], False),
        ([str(number) for number in range(10_000)], True),
        ([str(number) for number in range(10_001)], False),
        (["x" * 1000 + str(number) for number in range(996)], True),
        (["x" * 1000 + str(number) for number in range(1000)], False),
    ],
)
def test_texts_of_too_many_values_are_not_listed(engine: DuckDBEngine, names: list[Any], listed: bool) -> None:
    wider = {**REGIONS.columns, "name": Text(max_length=2000), "code": Int(0, 10**6)}
    table = replace(REGIONS, columns=wider)
    zones = ["a"] * len(names)
    engine.load(table, pa.table({"code": range(len(names)), "name": pa.array(names, pa.string()), "zone": zones}))
    assert bool(engine.labels(table)) == listed


def test_a_place_that_is_not_its_labels_is_refused(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    good = public_snapshot._with_codes
    monkeypatch.setattr(
        public_snapshot, "_with_codes", lambda table: good(table).replace(" - 1 AS code", " % 3 AS code")
    )
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        engine.load(REGIONS, regions())
