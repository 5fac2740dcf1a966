"""Tables that know their people: foreign keys, keys, rows as owners, public tables, and what is refused of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.policy.catalog import PublicTable, Table

ORDERS = {"id": dt.Int(1, 100), "price": dt.Int(0, 9)}
ITEMS = {"order_id": dt.Int(1, 100), "piece": dt.Category(["nut", "bolt"])}
REGIONS = {"code": dt.Int(0, 9), "name": dt.Category(["north", "south"])}


def orders(buyers: Any = (7, 7, 8)) -> pa.Table:
    return pa.table({"id": range(1, len(buyers) + 1), "buyer": buyers, "price": [1] * len(buyers)})


def items(orders: Any = (1, 2, 3)) -> pa.Table:
    return pa.table({"order_id": orders, "piece": ["nut"] * len(orders)})


def regions() -> pa.Table:
    return pa.table({"code": [1, 2], "name": ["north", "south"]})


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[dt.Curator]:
    """Orders of buyers, with a key."""
    with dt.Curator.open(tmp_path / "shop") as curator:
        curator.people("buyers", budget=dt.PureDP(4))
        curator.people("sellers", budget=dt.PureDP(4))
        curator.register(
            "Orders", orders(), people="buyers", owner="buyer", max_rows_per_owner=9, columns=ORDERS, key="ID"
        )
        yield curator


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    """One table of each kind, for what is refused and so changes nothing."""
    with dt.Curator.open(tmp_path_factory.mktemp("curators") / "shop") as curator:
        curator.people("buyers", budget=dt.PureDP(4))
        curator.people("sellers", budget=dt.PureDP(4))
        declared = {"people": "buyers", "owner": "buyer", "max_rows_per_owner": 9, "columns": ORDERS}
        curator.register("Orders", orders(), **declared, key="ID")
        curator.register("bare", orders(), **declared)
        curator.register("readings", regions(), people="buyers", owner=dt.EACH_ROW, columns=REGIONS)
        curator.register_public("regions", regions(), columns=REGIONS, key="code")
        yield curator


def register_items(shop: dt.Curator, owner: Any = "order_id -> orders.id", **changed: Any) -> Any:
    declared = {"people": "buyers", "owner": owner, "max_rows_per_owner": 9, "columns": ITEMS} | changed
    return shop.register(
        "items", changed.pop("source", items()), **{k: v for k, v in declared.items() if k != "source"}
    )


def named(shop: dt.Curator, name: str) -> Any:
    return next(table for table in shop.tables() if table.name == name)


@pytest.mark.parametrize("owner", ["order_id -> orders.id", " ORDER_ID->ORDERS . ID ", ("order_id", "orders", "id")])
def test_a_foreign_key_is_followed(shop: dt.Curator, owner: Any) -> None:
    report = register_items(shop, owner if isinstance(owner, str) else dt.ForeignKey(*owner))
    table = named(shop, "items")
    assert (table.owner, table.via) == ("buyer", dt.ForeignKey("order_id", "Orders", "id"))
    assert (report.rows, report.owners) == (3, 2)
    assert (table.owner_type, named(shop, "Orders").owner_type) == ("BIGINT", "BIGINT")


def test_everything_is_kept_on_disk(shop: dt.Curator, tmp_path: Path) -> None:
    register_items(shop, key=["order_id", "piece"])
    shop.register("readings", regions(), people="buyers", owner=dt.EACH_ROW, columns=REGIONS)
    shop.register_public("regions", regions(), columns=REGIONS, key="code")
    with dt.Curator.open(tmp_path / "shop") as again:
        assert again.tables() == shop.tables()
    assert named(shop, "items").key == ("order_id", "piece")
    readings, public = named(shop, "readings"), named(shop, "regions")
    assert (readings.row_level, readings.max_rows_per_owner, readings.owner_type) == (True, 1, "BIGINT")
    assert isinstance(public, PublicTable)
    assert (public.key, public.snapshot) == (("code",), 4)
    assert len(list((tmp_path / "shop" / "snapshots").glob("*.duckdb"))) == 4


@pytest.mark.parametrize("place", ["tables", "public"])
def test_edited_declarations_are_refused(shop: dt.Curator, tmp_path: Path, place: str) -> None:
    shop.register_public("regions", regions(), columns=REGIONS, key="code")
    path = tmp_path / "shop" / "policy.json"
    content = json.loads(path.read_text())
    for declared in content[place].values():
        declared["key"] = []
    path.write_text(json.dumps(content))
    with pytest.raises(dt.PolicyError, match="edited after its data were loaded"):
        shop.tables()


def test_an_older_file_is_read(shop: dt.Curator, tmp_path: Path) -> None:
    """Format 1 knew neither keys nor the type of owners; that is looked up when another table joins them."""
    from dither.policy.store import _checksum

    path = tmp_path / "shop" / "policy.json"
    content = json.loads(path.read_text())
    content["format"] = 1
    del content["public"]
    for name, declared in content["tables"].items():
        for later in ("via", "key", "owner_type", "checksum"):
            del declared[later]
        declared["checksum"] = _checksum(name, declared)
    path.write_text(json.dumps(content))
    old = named(shop, "Orders")
    assert (old.key, old.via, old.owner_type) == ((), None, "")
    more = {"people": "buyers", "owner": "buyer", "max_rows_per_owner": 1, "columns": ORDERS}
    with pytest.raises(dt.PolicyError, match="'buyer' holds text"):
        shop.register("more", orders(("ann",)), **more)
    shop.register("more", orders(), **more)
    assert named(shop, "more").owner_type == "BIGINT"
    assert json.loads(path.read_text())["format"] == 3


# What is refused, before any data are read


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"owner": "order_id -> nosuch.id"}, "there is no table 'nosuch'"),
        ({"owner": "order_id -> order.id"}, "Did you mean Orders"),
        ({"owner": "orderid -> orders.id"}, "'orderid' as its owner's foreign key, which must be a declared column"),
        ({"owner": "orderid -> orders.id"}, "Did you mean order_id"),
        ({"owner": "order_id -> orders.price"}, "'price' to be the key of 'Orders', which is declared with key=id"),
        ({"owner": "piece -> orders.id"}, "compares Category with Int"),
        ({"owner": "order_id -> regions.code"}, "'regions' is a public table"),
        ({"owner": "order_id -> readings.code"}, "each row is its own owner, which no other table can refer to"),
        ({"people": "sellers"}, "leads to a table of the same people"),
        (
            {"columns": ITEMS | {"Buyer": dt.Text()}},
            "declares a column 'buyer', which is what questions call the owner",
        ),
        ({"owner": None}, "a dt.ForeignKey or dt.EACH_ROW; got NoneType"),
        ({"owner": ""}, "needs owner="),
        ({"max_rows_per_owner": None}, "needs max_rows_per_owner="),
        ({"key": "nosuch"}, "'nosuch' as its key"),
        ({"key": ["piece", "PIECE"]}, "names a column twice"),
        ({"key": [3]}, "names one or several declared columns"),
    ],
)
def test_wrong_declarations(full: dt.Curator, changed: dict[str, Any], message: str) -> None:
    before = full.tables()
    with pytest.raises(dt.PolicyError, match=message):
        register_items(full, **changed, source="a file that is never opened")
    assert full.tables() == before


def test_a_parent_without_a_key(full: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="declared with no key=; drop and register 'bare' with key='id' first"):
        register_items(full, "order_id -> bare.id")


@pytest.mark.parametrize(("changed", "message"), [({"max_rows_per_owner": 2}, "is 1; got 2"), ({"key": "code"}, "key")])
def test_rows_as_owners_need_no_more(full: dt.Curator, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(dt.PolicyError, match=message):
        full.register("r", regions(), people="buyers", owner=dt.EACH_ROW, columns=REGIONS, **changed)


def test_a_public_table_needs_a_key(full: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="needs key="):
        full.register_public("regions", regions(), columns=REGIONS, key=())


def test_a_name_is_one_table_private_or_public(shop: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="'Orders' is registered already"):
        shop.register_public("orders", regions(), columns=REGIONS, key="code")
    shop.register_public("regions", regions(), columns=REGIONS, key="code")
    with pytest.raises(dt.PolicyError, match="'regions' is registered already"):
        shop.register("REGIONS", regions(), people="buyers", owner=dt.EACH_ROW, columns=REGIONS)


# Refresh and drop


def test_a_child_keeps_its_owners_until_it_is_refreshed(shop: dt.Curator, tmp_path: Path) -> None:
    import duckdb

    def owners() -> list[int]:
        path = tmp_path / "shop" / "snapshots" / f"items-{named(shop, 'items').snapshot:06d}.duckdb"
        with duckdb.connect(str(path), read_only=True) as connection:
            return sorted(row[0] for row in connection.execute('SELECT "_owner" FROM rows').fetchall())

    register_items(shop)
    shop.refresh("orders", orders((1, 2, 3)))
    assert owners() == [7, 7, 8]
    shop.refresh("items", items())
    assert owners() == [1, 2, 3]
    shop.refresh("orders", orders((1, 2)))
    assert shop.refresh("items", items()).dropped_without_owner == 1


def test_the_type_of_owners_stays_that_of_their_people(shop: dt.Curator) -> None:
    texts = orders(("ann", "bob", "bob"))
    with pytest.raises(dt.PolicyError, match="whole numbers"):
        shop.refresh("orders", texts)
    register_items(shop)
    with pytest.raises(dt.PolicyError, match="whole numbers"):
        shop.refresh("orders", texts)
    assert named(shop, "Orders").owner_type == named(shop, "items").owner_type == "BIGINT"


def test_numbers_become_text_where_owners_are_text(shop: dt.Curator) -> None:
    shop.drop("orders")
    declared = {"people": "buyers", "owner": "buyer", "max_rows_per_owner": 9, "columns": ORDERS, "key": "ID"}
    shop.register("orders", orders(("ann", "bob", "bob")), **declared)
    register_items(shop)
    shop.refresh("orders", orders())
    assert named(shop, "orders").owner_type == named(shop, "items").owner_type == "VARCHAR"


def test_a_table_that_others_refer_to_is_not_dropped(shop: dt.Curator) -> None:
    register_items(shop)
    with pytest.raises(dt.PolicyError, match="items find their owners in 'Orders'; drop them first"):
        shop.drop("orders")
    shop.drop("items")
    shop.drop("orders")
    assert shop.tables() == []


def test_public_tables_are_refreshed_and_dropped(shop: dt.Curator, tmp_path: Path) -> None:
    shop.register_public("regions", regions(), columns=REGIONS, key="code")
    shop.refresh("Regions", regions())
    assert named(shop, "regions").snapshot == 3
    assert (tmp_path / "shop" / "snapshots" / "regions-000003.duckdb").is_file()
    with pytest.raises(dt.PolicyError, match="more than once"):
        shop.refresh("regions", pa.table({"code": [1, 1], "name": ["north", "south"]}))
    shop.drop("regions")
    assert [table.name for table in shop.tables()] == ["Orders"]
    events = [(entry.kind, dict(entry.body)) for entry in shop.ledger() if entry.body.get("table") == "regions"]
    assert events == [
        ("register", {"table": "regions", "snapshot": "2"}),
        ("refresh", {"table": "regions", "snapshot": "3"}),
        ("drop", {"table": "regions"}),
    ]


def test_tables_are_what_analysts_see(shop: dt.Curator) -> None:
    shop.register_public("regions", regions(), columns=REGIONS, key="code")
    alice = shop.analyst("alice", budget=dt.PureDP(1), people="buyers")
    assert [type(table) for table in alice.tables()] == [Table, PublicTable]
    bob = shop.analyst("bob", budget=dt.PureDP(1), people="sellers")
    assert [type(table) for table in bob.tables()] == [PublicTable]
    with pytest.raises(dt.PolicyError, match="no cap on people 'sellers'"):
        shop.analyst("alice", people="sellers")
