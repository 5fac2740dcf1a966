"""Registering as people do it: CSV beside pandas, names with spaces, semicolons, misspelt names, and the same again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dither as dt

ORDERS = "order id;customer;Amount (EUR)\n1; 7 ;2.50\n2;7.0;3\n3;x;4\n4;8;5\n5;;6\n6;7.5;1\n7;1e1;1\n8;0x8;1\n"
COLUMNS = {"order_id": dt.Int(1, 99, source="order id"), "amount": dt.Fixed(0, 9, source="Amount (EUR)")}


@pytest.fixture
def shop(tmp_path: Path) -> dt.Curator:
    curator = dt.Curator.open(tmp_path / "shop")
    curator.people("customers", budget=dt.PureDP(1000))
    register_customers(curator)
    (tmp_path / "orders.csv").write_text(ORDERS)
    return curator


def register_customers(curator: dt.Curator, lower: int = 0) -> None:
    customers = pd.DataFrame({"id": [7, 8], "age": [30, 40]})
    columns = {"age": dt.Int(lower, 99)}
    curator.register("customers", customers, people="customers", owner="id", max_rows_per_owner=1, columns=columns)


def test_owners_in_csv_are_whole_numbers_where_those_of_its_people_are(shop: dt.Curator, tmp_path: Path) -> None:
    declared = {"people": "customers", "owner": "customer", "max_rows_per_owner": 9, "columns": COLUMNS}
    report = shop.register("orders", tmp_path / "orders.csv", delimiter=";", **declared)
    assert (report.rows, report.owners, report.dropped_without_owner) == (3, 2, 5)
    joined = "SELECT SUM(amount) FROM orders JOIN customers ON orders.customer = customers.id WHERE age = 30"
    assert abs(float(shop.sql(joined, epsilon=900).value) - 5.5) < 2
    assert shop.refresh("orders", tmp_path / "orders.csv", delimiter=";").rows == 3
    shop.close()
    with dt.Curator.open(tmp_path / "shop") as again:  # what the source calls a column is kept
        assert again.refresh("orders", tmp_path / "orders.csv", delimiter=";").rows == 3
        with pytest.raises(dt.PolicyError, match="state delimiter=';'"):
            again.refresh("orders", tmp_path / "orders.csv")


def test_registering_again_says_what_to_do(shop: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match=r"declared just like this, and nothing was loaded: .* use refresh"):
        register_customers(shop)
    with pytest.raises(dt.PolicyError, match=r"declared differently, and nothing was loaded: .* drop it first"):
        register_customers(shop, lower=1)


def test_misspelt_people_and_columns_are_guessed(shop: dt.Curator) -> None:
    frame = pd.DataFrame({"customer": [7], "amount": [1]})
    declared = {"max_rows_per_owner": 1, "columns": {"amount": dt.Int(0, 9)}}
    with pytest.raises(dt.PolicyError, match=r"no people 'customer'; known are: customers\. Did you mean customers\?"):
        shop.register("orders", frame, people="customer", owner="customer", **declared)
    with pytest.raises(dt.PolicyError, match=r"no people 'xyz'; .* Open their budget first"):
        shop.register("orders", frame, people="xyz", owner="customer", **declared)
    with pytest.raises(dt.PolicyError, match=r"no column 'custmer'; .* Did you mean customer\?"):
        shop.register("orders", frame, people="customers", owner="custmer", **declared)


def test_what_is_printed_reads_well(shop: dt.Curator) -> None:
    assert repr(shop) == "<Curator of customers>"
    assert repr(shop.analyst("alice", budget=dt.PureDP(1))) == "<Analyst alice>"
    shop.register_public("zips", pd.DataFrame({"zip": ["1"]}), key="zip", columns={"zip": dt.Text(max_length=5)})
    assert repr(shop.tables()).splitlines() == [
        "customers: of customers, owner id, at most 1 row of each owner",
        "  age: Int(0, 99)",
        "zips: public, key zip",
        "  zip: Text(max_length=5)",
    ]
    assert shop.tables() == list(shop.tables())
