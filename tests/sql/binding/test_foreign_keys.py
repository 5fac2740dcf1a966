"""A foreign key ties a query inside EXISTS and IN to the owner: exact answers beside those of plain tables."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import UnsupportedQuery
from dither.mechanisms.sealed_values import _unseal
from dither.policy.columns import Int

BILLS = pa.table({"bill": [1, 2, 3, 4, 5], "buyer": [7, 7, 8, 9, 9], "paid": [1, 0, 1, 1, 0]})
LINES = pa.table({"bill": [1, 1, 2, 4, 4, 5], "line": [1, 2, 3, 4, 5, 6], "price": [5, 9, 2, 1, 1, 8]})
PARTS = pa.table({"line": [1, 3, 3, 6], "size": [4, 2, 9, 9]})


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    curator = Curator.open(tmp_path_factory.mktemp("shop"))
    curator.people("buyers", budget=PureDP(10))
    number = Int(0, 9, nullable=False, default=0)
    for name, source, owner, columns, key in (
        ("bills", BILLS, "buyer", ("bill", "paid"), "bill"),
        ("lines", LINES, "bill -> bills.bill", ("bill", "line", "price"), "line"),
        ("parts", PARTS, "line -> lines.line", ("line", "size"), ()),
    ):
        declared = dict.fromkeys(columns, number)
        curator.register(name, source, people="buyers", owner=owner, max_rows_per_owner=9, key=key, columns=declared)
    yield curator
    curator.close()


MEANT = """
SELECT COUNT(*) FROM bills WHERE EXISTS (SELECT * FROM lines WHERE lines.bill = bills.bill AND price > 4)
SELECT COUNT(*) FROM bills WHERE NOT EXISTS (SELECT * FROM lines WHERE bills.bill = lines.bill)
SELECT COUNT(*) FROM lines WHERE EXISTS (SELECT 1 FROM bills WHERE bills.bill = lines.bill AND paid = 1)
SELECT COUNT(*) FROM bills WHERE bill IN (SELECT bill FROM lines WHERE price > 4)
SELECT COUNT(*) FROM bills WHERE bill NOT IN (SELECT bill FROM lines)
SELECT COUNT(*) FROM lines WHERE bill IN (SELECT bill FROM bills WHERE paid = 0)
SELECT COUNT(*) FROM lines AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.bill AND a.line < b.line)
SELECT COUNT(*) FROM bills AS o WHERE EXISTS (SELECT 1 FROM lines JOIN parts ON parts.line = lines.line WHERE lines.bill = o.bill AND size > 3)
SELECT COUNT(*) FROM (SELECT bill AS b, paid + 1 AS p FROM bills) AS o WHERE EXISTS (SELECT 1 FROM lines WHERE lines.bill = o.b AND price > p)
"""  # noqa: E501 - a query a line


@pytest.mark.parametrize("text", MEANT.strip().splitlines())
def test_a_foreign_key_implies_an_equality_of_owners(shop, text):
    with duckdb.connect() as plain:
        for name, source in (("bills", BILLS), ("lines", LINES), ("parts", PARTS)):
            plain.register(name, source)
        meant = plain.execute(text).fetchone()[0]
    priced = shop._walk.price(text, epsilon=1)
    assert int(_unseal(shop._engine.run(priced.statements[0])[0])[0]) == meant > 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM bills AS b WHERE a.bill = b.bill)",
        "SELECT COUNT(*) FROM bills AS a WHERE a.bill IN (SELECT bill FROM bills)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill <= b.bill)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.bill + 1)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.line)",
        "SELECT COUNT(*) FROM bills AS a WHERE a.bill IN (SELECT line FROM lines)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM parts AS b WHERE a.bill = b.line)",
    ],
)
def test_any_other_comparison_does_not(shop, text):
    with pytest.raises(UnsupportedQuery, match="needs an equality of owners"):
        shop.explain(text, epsilon=1)


JOINED = "SELECT COUNT(*) FROM bills JOIN lines ON lines.bill = bills.bill AND lines.buyer = bills.buyer"
FOLLOWED = f"""
{JOINED}
{JOINED.replace(" JOIN", " LEFT JOIN")}
{JOINED.replace("lines ON", "(SELECT bill, buyer, line + 1 AS l FROM lines) AS lines ON")}
SELECT COUNT(*) FROM lines JOIN bills ON lines.bill = bills.bill AND lines.buyer = bills.buyer WHERE paid = 1
SELECT COUNT(*) FROM bills WHERE EXISTS (SELECT * FROM lines WHERE lines.bill = bills.bill AND price > 4)
SELECT COUNT(*) FROM bills WHERE NOT EXISTS (SELECT * FROM lines WHERE lines.bill = bills.bill AND price > 4)
SELECT COUNT(*) FROM lines WHERE bill IN (SELECT bill FROM bills WHERE paid = 0)
"""


def exact(curator: Curator, text: str) -> tuple[int, bool]:
    """The exact number, and whether owners are compared to find it."""
    (statement,) = curator._walk.price(text, epsilon=1).statements
    return int(_unseal(curator._engine.run(statement)[0])[0]), '"_owner" =' in statement.sql


def plainly(text: str, bills: pa.Table) -> int:
    """What is meant: each line knows the buyer that it was loaded with, whoever has its bill now."""
    with duckdb.connect() as plain:
        plain.register("loaded", BILLS)
        plain.register("given", LINES)
        plain.execute("CREATE VIEW lines AS SELECT given.*, buyer FROM given JOIN loaded USING (bill)")
        plain.register("bills", bills)
        for old, new in (
            ("lines.bill = bills.bill AND price", "lines.bill = bills.bill AND lines.buyer = bills.buyer AND price"),
        ):
            text = text.replace(old, new)
        text = text.replace("bill IN (SELECT bill FROM bills", "(bill, buyer) IN (SELECT bill, buyer FROM bills")
        return int(plain.execute(text).fetchone()[0])


@pytest.mark.parametrize("text", FOLLOWED.strip().splitlines())
def test_owners_are_compared_unless_the_foreign_key_was_followed_in_this_very_snapshot(tmp_path, text):
    with Curator.open(tmp_path / "shop") as curator:
        curator.people("buyers", budget=PureDP(10))
        number = Int(0, 9, nullable=False, default=0)
        told = {"people": "buyers", "max_rows_per_owner": 9}
        curator.register(
            "bills", BILLS, owner="buyer", key="bill", columns=dict.fromkeys(("bill", "paid"), number), **told
        )
        columns = dict.fromkeys(("bill", "line", "price"), number)
        curator.register("lines", LINES, owner="bill -> bills.bill", columns=columns, **told)
        assert exact(curator, text) == (plainly(text, BILLS), False)
        # Bills change hands: lines still belong to those they were loaded for, until they are loaded again.
        moved = BILLS.set_column(1, "buyer", pa.array([8, 7, 9, 9, 7]))
        curator.refresh("bills", moved)
        found, compared = exact(curator, text)
        assert compared
        assert found == plainly(text, moved)
        assert found != plainly(text, BILLS)  # so that a comparison left out would show
        curator.refresh("lines", LINES)
        assert not exact(curator, text)[1]


def test_what_else_agrees_says_nothing_about_owners(shop):
    for text in (
        "SELECT COUNT(*) FROM bills JOIN lines ON lines.buyer = bills.buyer",
        "SELECT COUNT(*) FROM bills JOIN lines ON lines.line = bills.bill AND lines.buyer = bills.buyer",
        "SELECT COUNT(*) FROM lines AS a JOIN lines AS b ON a.line = b.line AND a.buyer = b.buyer",
        "SELECT COUNT(*) FROM bills JOIN parts ON parts.line = bills.bill AND parts.buyer = bills.buyer",
    ):
        assert exact(shop, text)[1]
