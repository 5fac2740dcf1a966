"""Whose a row is: by a column, by a foreign key, or each row its own; and keys that are unique within each owner.

What one owner has depends on that owner's rows alone, so that databases without one of them stay neighbours.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import owners, snapshot
from dither.engines.protocol import LoadReport
from dither.errors import PolicyError
from dither.policy.catalog import ForeignKey, Table
from dither.policy.columns import Category, Int, Text

ORDERS = Table("orders", "buyers", "buyer", 5, {"id": Int(1, 1000), "price": Int(0, 100)}, 1, key=("id",))
ITEMS = Table(
    "items",
    "buyers",
    "buyer",
    9,
    {"order_id": Int(1, 50), "line": Int(1, 9)},
    2,
    key=("order_id", "line"),
    via=ForeignKey("order_id", "orders", "id"),
)
PARTS = Table(
    "parts", "buyers", "buyer", 20, {"item": Int(1, 50), "name": Text()}, 3, via=ForeignKey("item", "items", "order_id")
)


class Store:
    """An engine, and plain reads of what it stored."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.engine = folder, DuckDBEngine(folder)

    def load(self, table: Table, rows: Any, **named: Any) -> LoadReport:
        source = pa.Table.from_pylist(rows) if isinstance(rows, list) else rows
        return self.engine.load(table, source, **named)

    def rows(self, table: Table, what: str = "*") -> Counter[tuple[Any, ...]]:
        path = self.folder / f"{table.name}-{table.snapshot:06d}.duckdb"
        with duckdb.connect(str(path), read_only=True) as connection:
            return Counter(connection.execute(f"SELECT {what} FROM rows").fetchall())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "snapshots")


def order(id_: int | None, buyer: Any, price: int = 1) -> dict[str, Any]:
    return {"id": id_, "buyer": buyer, "price": price}


def item(order_id: int | None, line: int | None = 1) -> dict[str, Any]:
    return {"order_id": order_id, "line": line}


# Foreign keys


def test_a_foreign_key_finds_the_owner(store: Store) -> None:
    store.load(ORDERS, [order(1, 7), order(2, 7), order(3, 8), order(1000, 9)])
    report = store.load(ITEMS, [item(1), item(1, 2), item(3), item(4), item(None), item(51)], parent=ORDERS)
    assert store.rows(ITEMS, '"_owner", order_id, line') == Counter([(7, 1, 1), (7, 1, 2), (8, 3, 1)])
    assert (report.rows, report.owners, report.dropped_without_owner) == (3, 2, 3)


def test_a_clamped_foreign_key_leads_nowhere(store: Store) -> None:
    """51 is beyond what the child declares: clamped to 50, it would give the row to another owner."""
    store.load(ORDERS, [order(50, 7), order(51, 8), order(1, 9)])
    store.load(ITEMS, [item(51), item(1)], parent=ORDERS)
    assert store.rows(ITEMS, '"_owner", order_id') == Counter([(9, 1)])


def test_a_clamped_key_is_no_key(store: Store) -> None:
    """Order 5,000 is beyond what is declared: clamped to 1,000, it would be another order."""
    report = store.load(ORDERS, [order(5000, 7), order(1000, 8)])
    assert (report.rows, report.dropped_without_key) == (1, 1)
    assert store.rows(ORDERS, '"_owner", id') == Counter([(8, 1000)])
    with pytest.raises(PolicyError, match="1 record with a key that does not fit"):
        store.load(replace(ORDERS, snapshot=2), [order(5000, 7), order(1000, 8)], strict=True)
    with pytest.raises(PolicyError, match=r"no row's key \(id\) fits"):
        store.load(replace(ORDERS, snapshot=2), [order(5000, 7)])


def test_a_chain_of_foreign_keys(store: Store) -> None:
    lines = replace(ITEMS, key=("order_id",))
    store.load(ORDERS, [order(1, "ann"), order(2, "bob")])
    store.load(lines, [item(1), item(2)], parent=ORDERS)
    store.load(PARTS, [{"item": 2, "name": "nut"}, {"item": 1, "name": "bolt"}], parent=lines)
    assert store.rows(PARTS, '"_owner", name') == Counter([("bob", "nut"), ("ann", "bolt")])
    assert store.engine.owner_type(PARTS) == "VARCHAR"


@pytest.mark.parametrize(
    ("kind", "first", "second"), [(Text(), "a", "b"), (Category(["x", "a", "b"]), "a", "b"), (Int(-5, 5), -5, 5)]
)
def test_kinds_of_keys(store: Store, kind: Any, first: Any, second: Any) -> None:
    parent = Table("p", "people", "who", 3, {"k": kind}, 1, key=("k",))
    child = Table("c", "people", "who", 3, {"f": kind}, 2, via=ForeignKey("f", "p", "k"))
    store.load(parent, [{"who": 1, "k": first}, {"who": 2, "k": second}, {"who": 3, "k": None}])
    store.load(child, [{"f": second}, {"f": second}, {"f": None}], parent=parent)
    assert store.rows(child, '"_owner"') == Counter({(2,): 2})


def test_a_key_of_two_owners_is_refused(store: Store) -> None:
    store.load(ORDERS, [order(1, 7), order(1, 8), order(2, 7), order(None, 7), order(None, 8)])
    with pytest.raises(PolicyError, match=r"several owners have the same orders\.id \(1 value\)"):
        store.load(ITEMS, [item(2)], parent=ORDERS)
    assert not store.engine.has(ITEMS)


def test_nobody_is_found(store: Store) -> None:
    store.load(ORDERS, [order(1, 7)])
    with pytest.raises(PolicyError, match=r"no row with an owner by order_id -> orders\.id"):
        store.load(ITEMS, [item(2)], parent=ORDERS)
    with pytest.raises(PolicyError, match="1 record without an owner"):
        store.load(ITEMS, [item(1), item(2)], parent=ORDERS, strict=True)
    store.engine.drop(ORDERS)
    with pytest.raises(PolicyError, match="snapshot of 'orders' is missing"):
        store.load(ITEMS, [item(1)], parent=ORDERS)


def test_wrong_owners_are_seen_when_read_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the owner of any order."""
    monkeypatch.setattr(
        owners.Owners,
        "_by_foreign_key",
        lambda self, source, via: f"SELECT CAST(7 AS BIGINT) AS _owner, * FROM ({self.load.all_sanitised(source)})",
    )
    store.load(ORDERS, [order(1, 7), order(2, 8)])
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        store.load(ITEMS, [item(1), item(2)], parent=ORDERS)


# Neighbours


def tree(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Orders of 12 buyers, some repeated and one key of several buyers; items that point to them or nowhere."""
    generator = random.Random(seed)
    orders = [order(id_, id_ % 12, generator.randrange(50)) for id_ in range(1, 60)]
    orders += [order(id_, id_ % 12, generator.randrange(50)) for id_ in range(1, 30)]
    items = [item(generator.randrange(1, 70), generator.choice([None, *range(12)])) for _ in range(400)]
    return orders, items


def check_neighbours(folder: Path, shared: bool = False) -> None:
    """Without one buyer, in orders and in the items that lead to their orders, nobody else has other rows."""
    orders, items = tree(1)
    if shared:
        orders.append(order(13, 5))  # 13 is buyer 1's
    key, stored = b"k" * 32, []
    for gone in (None, 5):
        store = Store(folder / str(gone))
        store.folder.mkdir(mode=0o700, parents=True)
        (store.folder / "rank.key").write_bytes(key)
        (store.folder / "rank.key").chmod(0o600)
        store.load(ORDERS, [row for row in orders if row["buyer"] != gone])
        store.load(ITEMS, items, parent=ORDERS)
        stored.append({table.name: store.rows(table) for table in (ORDERS, ITEMS)})
    for name in ("orders", "items"):
        difference = stored[0][name]
        difference.subtract(stored[1][name])
        changed = {row[0]: count for row, count in difference.items() if count}
        assert set(changed) == {5}, "others have other rows"
        assert min(changed.values()) > 0


def test_an_owner_takes_its_own_rows_away_and_no_others(tmp_path: Path) -> None:
    check_neighbours(tmp_path)


def test_planted_bug_shared_keys_give_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once one of the two has gone, the other gets rows that nobody had."""
    with pytest.raises(PolicyError, match="several owners"):
        check_neighbours(tmp_path / "refused", shared=True)
    unique = "(SELECT id, MIN(_owner) AS _owner FROM parent_file.rows GROUP BY id HAVING COUNT(*) = 1)"
    prepare = owners.Owners.prepare

    def passing_over(self: owners.Owners) -> None:
        monkeypatch.setattr(owners, "_PARENT", unique)
        prepare(self)

    monkeypatch.setattr(owners.Owners, "prepare", passing_over)
    with pytest.raises(AssertionError, match="others have other rows"):
        check_neighbours(tmp_path / "planted", shared=True)


# Keys within an owner


def test_rows_that_repeat_a_key_are_dropped(store: Store) -> None:
    report = store.load(ORDERS, [order(1, 7), order(1, 7, 2), order(1, 8), order(None, 7), order(None, 7)])
    assert store.rows(ORDERS, '"_owner", id, "_rank" > 2').keys() == {(7, 1, False), (8, 1, False), (7, None, False)}
    assert (report.rows, report.owners, report.dropped_as_repeats) == (3, 2, 2)
    assert "  dropped since they repeat a key of their owner: 2 (40.0%)" in str(report)
    with pytest.raises(PolicyError, match="2 records with a key that another of their owner has"):
        store.load(replace(ORDERS, snapshot=2), [order(1, 7), order(1, 7, 2), order(1, 7, 3), order(2, 7)], strict=True)


def test_which_of_them_is_kept_depends_on_that_owner_alone(store: Store) -> None:
    rows = [order(id_, buyer, price) for id_ in (1, 2, 3) for buyer in range(40) for price in range(4)]
    kept = []
    for number in range(1, 5):
        random.Random(number).shuffle(rows)
        table = replace(ORDERS, snapshot=number)
        store.load(table, [row for row in rows if number < 4 or row["buyer"] != 17])
        kept.append(store.rows(table))
    assert kept[0] == kept[1] == kept[2]
    kept[0].subtract(kept[3])
    assert {row[0] for row, count in kept[0].items() if count} == {17}
    assert len({row[2] for row in kept[1]}) == 4, "no value is preferred"


def test_planted_bugs_in_keys_are_seen(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [order(1, 7, price) for price in range(9)] + [order(2, 8)]
    monkeypatch.setattr(snapshot, "first_of_its_key", lambda *_: "row_number() OVER (ORDER BY length($key)) > 0")
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        store.load(ORDERS, rows)
    by_key = "row_number() OVER (PARTITION BY id ORDER BY length($key)) = 1"  # over all owners
    monkeypatch.setattr(snapshot, "first_of_its_key", lambda *_: by_key)
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        store.load(ORDERS, [*rows, order(1, 8)])


# Each row its own owner


def test_each_row_is_its_own_owner(store: Store) -> None:
    table = Table("readings", "meters", "", 1, {"x": Int(0, 9)}, 1)
    report = store.load(table, [{"x": 1}, {"x": 1}, {"x": None}])
    assert (report.rows, report.owners, report.beyond_max_rows_per_owner) == (3, 3, 0)
    assert store.rows(table, 'x, "_rank"') == Counter({(1, 1): 2, (None, 1): 1})
    assert len(store.rows(table, '"_owner"')) == 3
    assert store.engine.owner_type(table) == "BIGINT"


# One type of owners in one people


def test_numbers_are_kept_as_text_where_the_people_have_text(store: Store) -> None:
    text = replace(ORDERS, owner_type="VARCHAR")
    store.load(text, [order(1, 7), order(2, -7)])
    assert store.rows(text, '"_owner"') == Counter([("7",), ("-7",)])


def test_text_is_refused_where_the_people_have_numbers(store: Store) -> None:
    numbers = replace(ORDERS, owner_type="BIGINT")
    with pytest.raises(PolicyError, match="stored as whole numbers, and 'buyer' holds text; cast it"):
        store.load(numbers, [order(1, "7")])
    store.load(numbers, [order(1, 7)])
